"""Protection of every page: policy, CSRF, cookies, log-in. New URLs are covered as soon as they are in the resolver."""

from __future__ import annotations

import re
from http import HTTPStatus
from uuid import uuid4

import pytest
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest
from django.test import Client
from django.urls import URLPattern, get_resolver, path
from django.urls.resolvers import RoutePattern

from approvals.access.callers import is_for_machines
from approvals.states import Verdict
from chats.models import TurnCheckpoint
from hitlsite.urls import handler400, handler403, handler404, handler500  # noqa: F401 - names that Django looks up here
from hitlsite.urls import urlpatterns as ours
from tests.support import people
from tests.support.chats.scenes import asked, completed, paused
from tests.support.chats.turns import make_chat, only_request
from tests.support.desk.requests import decide
from tests.support.markup import inline_code, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
JSON = {"Accept": "application/json"}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "frame-src": "'self'",
    "manifest-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
LOG_INS = {"/login/", "/admin/login/"}  # the second points to the first
RESETS = {"/password/reset/", "/password/reset/sent/", "/password/reset/x/x/"}
OPEN = {
    "/login/",
    "/login/passkey/",
    "/login/sso/",
    "/login/sso/callback/",
    "/login/sso/log-out/",
    "/login/with/x/",
    "/login/with/x/callback/",
    "/login/with/x/log-out/",
    *RESETS,
    "/favicon.ico",
    "/words.js",
    "/manifest.webmanifest",
    "/worker.js",
    "/offline/",
}  # to everybody: one has to get in somehow
#: The same for programs: they say nothing about this desk.
OPEN_TO_PROGRAMS = {
    "/api/v1/openapi.json",
    "/api/v1/leaked-keys",
    "/api/slack/interactivity",
    "/api/v1/relays/x/answers",
    "/api/v1/relays/x/links",
    "/api/v1/relays/schema.json",
    "/api/slack/events",
    "/api/teams/messages",
}
#: Those whose errors have no code, the ones of SCIM among them (`tests/hitlsite/scim`).
WITHOUT_CODES = OPEN_TO_PROGRAMS | {"/scim/v2", "/scim/v2x"}
#: Addresses that are no plain route, by their pattern.
SAMPLES = {
    "(?P<url>.*)$": "absent/",
    r"^(?P<address>[\s\S]*)$": "absent/",
    "^(?P<app_label>approvals|auth|chats)/$": "auth/",
    "^(?P<app_label>approvals|auth|chats|procrastinate)/$": "auth/",
}


def raising(error: Exception):
    def view(request: HttpRequest) -> None:
        raise error

    return view


#: This module as a urlconf: ours, and views that fail in every way.
urlpatterns = [
    path("fails/400/", raising(BadRequest("secret"))),
    path("fails/403/", raising(PermissionDenied("secret"))),
    path("fails/500/", raising(RuntimeError("secret"))),
    *ours,
]


def browser(user=None, **options) -> Client:
    client = Client(raise_request_exception=False, **options)
    if user is not None:
        client.force_login(user)
    return client


def addresses(*, for_machines: bool = False) -> list[str]:
    """Every address of a page, or for machines, in the resolver; with something in the place of its arguments."""

    def walk(patterns, prefix: str) -> list[str]:
        found = []
        for entry in patterns:
            route = str(entry.pattern) if isinstance(entry.pattern, RoutePattern) else SAMPLES[str(entry.pattern)]
            filled = prefix + re.sub(
                r"<(?:(\w+):)?\w+>", lambda kind: {"int": "1", "uuid": str(uuid4())}.get(kind[1], "x"), route
            )
            found += [filled] if isinstance(entry, URLPattern) else walk(entry.url_patterns, filled)
        return found

    return sorted({found for found in walk(get_resolver().url_patterns, "/") if is_for_machines(found) == for_machines})


def pages_and_machines() -> tuple[list[str], list[str]]:
    return addresses(), addresses(for_machines=True)


@pytest.fixture
def pages() -> dict[str, object]:
    """Every page of ours once, with something on it, and the error pages, by address."""
    owner, admin = alice(), make_person("root")
    admin.is_superuser = admin.is_staff = True
    admin.save()
    chat = make_chat(owner)
    turn = paused(chat)
    request = only_request(turn)
    completed(make_chat(owner))
    checkpoint = TurnCheckpoint.objects.earliest("pk").pk
    _, question = asked(owner)
    decide(question, owner, Verdict.RESPOND, answer={"selected": ["Standard"]})
    own = [
        "/",
        "/workflows/",
        f"/workflows/{request.workflow_id}/",
        f"/requests/{request.pk}/",
        f"/requests/{question.pk}/",
    ]
    own += [
        "/chats/",
        "/password/",
        f"/chats/{chat.pk}/",
        f"/chats/{chat.pk}/checkpoints/",
        f"/chats/checkpoints/{checkpoint}/",
        "/admin/",
    ]
    client = browser(admin)
    found = {address: client.get(address) for address in own}
    assert {answer.status_code for answer in found.values()} == {200}
    found |= {address: browser().get(address) for address in ("/login/", *RESETS)}
    found |= {"/absent/": client.get("/absent/"), "/chats/999/": client.get("/chats/999/")}
    found |= {f"/fails/{status}/": client.get(f"/fails/{status}/") for status in (400, 403, 500)}
    refused = browser(bob()).post(f"/requests/{request.pk}/decide/", {"verdict": "maybe"})
    strange = browser(owner, enforce_csrf_checks=True).post("/chats/new/")
    found |= {"refused": refused, "strange": strange, "method": client.post("/")}
    statuses = [answer.status_code for answer in [*found.values()][len(own) :]]
    assert statuses == [200, 200, 200, 200, 404, 404, 400, 403, 500, 422, 403, 405]
    return found


@pytest.fixture(autouse=True)
def _views_that_fail(settings):
    settings.ROOT_URLCONF = __name__


def test_every_response_has_the_security_headers(pages):
    for address, answer in pages.items():
        policy = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
        assert (address, policy) == (address, POLICY)
        others = [answer.headers.get(name) for name in ("X-Frame-Options", "X-Content-Type-Options", "Referrer-Policy")]
        assert (address, others) == (address, ["DENY", "nosniff", "same-origin"])


def test_redirects_have_the_policy_too():
    answer = browser().get("/")
    assert (answer.status_code, answer.headers["Content-Security-Policy"].split("; ")[0]) == (302, "default-src 'none'")


def test_static_files_have_their_content_type():
    answer = browser().get("/static/pausepoint/live.js")
    kind = answer.headers["Content-Type"].split(";")[0]
    assert (answer.status_code, kind, answer.headers["X-Content-Type-Options"]) == (200, "text/javascript", "nosniff")


def test_a_static_image_cannot_run_scripts():
    answer = browser().get("/static/pausepoint/icon.svg")
    assert answer.headers["Content-Security-Policy"].split("; ")[0] == "default-src 'none'"


def test_no_page_has_inline_code_or_styles(pages):
    for address, answer in pages.items():
        assert (address, inline_code(answer.text)) == (address, [])


@pytest.mark.parametrize(("known", "half"), [(False, 0), (False, 1), (True, 0), (True, 1)])
def test_every_form_without_a_csrf_token_is_refused_with_a_page(known, half):
    found, client = pages_and_machines()[0][half::2], browser(bob() if known else None, enforce_csrf_checks=True)
    assert len(found) > 20
    # The provider signs what it sends there.
    for address in set(found) - {"/login/sso/log-out/", "/login/with/x/log-out/"}:
        refused = client.post(address, {"verdict": "approve"})
        assert (address, refused.status_code) == (address, 403)
        title = parse(refused.text).find("section", class_="problem")[0].find("h1")[0]
        assert title.words == "This form has expired or came from another site. Reload the page and try again."


def test_every_address_for_programs_needs_a_csrf_token_from_a_browser():
    # An unknown program is told so; a known browser needs its token here too.
    for user, status, code in ((None, 401, "not_authenticated"), (alice(), 403, "csrf")):
        client = browser(user, enforce_csrf_checks=True)
        for address in set(pages_and_machines()[1]) - OPEN_TO_PROGRAMS:
            refused = client.post(address, {"verdict": "approve"}, content_type="application/json")
            # Errors of SCIM have no code.
            expected = None if address.startswith("/scim/") else code
            assert (address, refused.status_code, refused.json().get("code")) == (address, status, expected)


def test_a_form_with_somebody_elses_token_is_refused():
    theirs = browser(carol(), enforce_csrf_checks=True)
    theirs.get("/")
    mine = browser(alice(), enforce_csrf_checks=True)
    page = mine.get("/chats/")
    (own,) = parse(page.text).find("main")[0].find("input", name="csrfmiddlewaretoken")
    for token, status in ((theirs.cookies["csrftoken"].value, 403), (own.attributes["value"], 302)):
        data = {"csrfmiddlewaretoken": token, "agent": "support", "text": "hello"}
        assert mine.post("/chats/new/", data).status_code == status


def test_a_pushed_form_sends_the_csrf_token_of_the_page():
    client = browser(alice(), enforce_csrf_checks=True)
    (body,) = parse(client.get("/chats/").text).find("body")
    (token,) = re.findall(r'{"X-CSRFToken": "(\w+)"}', body.attributes["hx-headers"])
    data = {"agent": "support", "text": "hello"}
    assert client.post("/chats/new/", data, headers={"X-CSRFToken": token}).status_code == 302


def test_a_form_from_another_origin_is_refused_despite_a_valid_token():
    client = browser(alice(), enforce_csrf_checks=True)
    client.get("/chats/")
    data = {"csrfmiddlewaretoken": client.cookies["csrftoken"].value, "agent": "support", "text": "hello"}
    assert client.post("/chats/new/", data, headers={"Origin": "http://evil.example"}).status_code == 403


def test_cookies_are_http_only_and_same_site():
    user, client = people.alice(), browser()
    client.get("/login/")
    client.post("/login/", {"username": user.username, "password": people.PASSWORD})
    flags = {name: (bool(cookie["httponly"]), cookie["samesite"]) for name, cookie in client.cookies.items()}
    assert flags == {"sessionid": (True, "Lax"), "csrftoken": (False, "Lax")}


def test_logging_in_creates_a_new_session():
    user, client = people.alice(), browser()
    client.session.save()
    client.cookies["sessionid"] = "planted"
    client.post("/login/", {"username": user.username, "password": people.PASSWORD})
    assert client.cookies["sessionid"].value != "planted"
    assert client.get("/").status_code == 200


def test_every_page_except_the_log_in_needs_a_log_in():
    client, (found, machines) = browser(), pages_and_machines()
    answers = {address: client.get(address) for address in found}
    places = {address: answer.headers.get("Location", "").partition("?")[0] for address, answer in answers.items()}
    assert {address for address, place in places.items() if place not in LOG_INS} == OPEN
    assert {answers[address].status_code for address in set(found) - OPEN} == {302}
    refused = [client.get(address) for address in set(machines) - OPEN_TO_PROGRAMS]
    assert {(answer.status_code, answer["WWW-Authenticate"]) for answer in refused} == {(401, "Bearer")}


def test_an_htmx_request_without_a_session_loads_the_log_in_page():
    client = browser()
    # The second step of a log-in leads back to the first.
    for address in set(pages_and_machines()[0]) - OPEN - {"/admin/login/", "/login/factor/"}:
        for send in (client.get, client.post):
            refused = send(address, headers=HTMX)
            found = (address, refused.status_code, refused.headers.get("HX-Redirect"), refused.content)
            assert found == (address, 401, "/login/", b"")


def test_api_clients_get_problem_documents_and_people_get_pages():
    client, strange = browser(alice()), browser(carol(), enforce_csrf_checks=True)
    theirs = make_chat(bob()).get_absolute_url()
    answers = [
        (404, "not_found", client.get("/absent/", headers=JSON)),
        (404, "not_found", client.get("/chats/999/", headers=JSON)),
        (404, "not_found", client.get(theirs, headers=JSON)),
        (400, "bad_request", client.get("/fails/400/", headers=JSON)),
        (403, "forbidden", client.get("/fails/403/", headers=JSON)),
        (500, "internal_server_error", client.get("/fails/500/", headers=JSON)),
        (403, "csrf", strange.post("/chats/new/", headers=JSON)),
        (422, "bad_message", client.post("/chats/new/", headers=JSON)),
    ]
    for status, code, answer in answers:
        body = answer.json()
        assert (answer.headers["Content-Type"], answer.status_code) == ("application/problem+json", status)
        assert (body["type"], body["title"], body["status"]) == ("about:blank", HTTPStatus(status).phrase, status)
        assert (body["code"], body["detail"] != "", "secret" in body["detail"]) == (code, True, False)
    assert client.get("/absent/").headers["Content-Type"] == "text/html; charset=utf-8"


def test_an_htmx_error_is_a_line_and_not_a_page():
    client = browser(alice())
    for status in (400, 403, 500):
        answer = client.get(f"/fails/{status}/", headers=HTMX)
        (line,) = parse(answer.text).inside
        assert (answer.status_code, line.tag, line.attributes["role"]) == (status, "p", "alert")
        assert "secret" not in answer.text


@pytest.mark.parametrize("address", ["/%2Fevil.example", "/%5Cevil.example", "/%2Fchats", "/chats%0d%0aX:y"])
def test_adding_a_slash_never_redirects_to_another_site(address):
    client = browser(alice())
    assert client.get("/chats").headers["Location"] == "/chats/"
    assert client.get(address).status_code == 404
