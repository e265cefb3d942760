"""Calls with a token pass only by middleware that means something to them, and are answered as by all of it."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from hitlsite.asgi import application
from hitlsite.server.handler import FOR_PEOPLE, OneThreadHandler
from tests.support.desk.requests import make_request
from tests.support.machines import Answer, Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


def handler() -> OneThreadHandler:
    app = application.application_mapping["http"]
    while not isinstance(app, OneThreadHandler):
        app = app.app
    return app


def passed(chain) -> list[str]:
    """The names of the middleware of a chain, from the first to the last."""
    names = []
    while hasattr(chain := chain.__wrapped__, "get_response"):
        names.append(f"{type(chain).__module__}.{type(chain).__name__}")
        chain = chain.get_response
    return names


def cookies_of(user) -> str:
    browser = Client()
    browser.force_login(user)
    return f"sessionid={browser.cookies['sessionid'].value}"


def test_a_call_with_a_token_passes_eleven_middleware():
    assert passed(handler()._calls._middleware_chain) == [
        "hitlsite.middleware.ContentSecurityPolicyMiddleware",
        "django.middleware.security.SecurityMiddleware",
        "hitlsite.middleware.CacheControlMiddleware",
        "corsheaders.middleware.CorsMiddleware",
        "hitlsite.server.outages.OutageMiddleware",
        "django.middleware.common.CommonMiddleware",
        "approvals.access.callers.MachineMiddleware",
        "hitlsite.middleware.LoginRequired",
        "hitlsite.middleware.WrongMethodPage",
        "hitlsite.middleware.RefuseNul",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ]


def test_what_calls_pass_by_is_in_use_for_people(settings):
    assert sorted(FOR_PEOPLE - set(settings.MIDDLEWARE)) == []


#: Method, address, body and headers.
CALLS = {
    "an ask": ("POST", "/api/v1/requests", {"kind": "question", "title": "Which?"}, {"idempotency-key": "1"}),
    "an invalid ask": ("POST", "/api/v1/requests", {"kind": "approval"}, {}),
    "a body that is no JSON": ("POST", "/api/v1/requests", None, {"content-type": "text/plain"}),
    "a list": ("GET", "/api/v1/requests", None, {}),
    "a list of another site's script": ("GET", "/api/v1/requests", None, {"origin": "https://app.example"}),
    "a wrong token": ("GET", "/api/v1/requests", None, {"authorization": "Bearer pp_00000000_x"}),
    "a wrong method": ("PUT", "/api/v1/requests", {}, {}),
    "an unknown address": ("GET", "/api/nothing", None, {}),
    "a NUL": ("GET", "/api/v1/workflows/a%00b", None, {}),
    "an unknown host": ("GET", "/api/v1/requests", None, {"host": "evil.example"}),
    "the head of a document": ("HEAD", "/api/v1/openapi.json", None, {}),
    "a tool over MCP": ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {}),
    "a chat": ("GET", "/api/chat/unknown", None, {}),
    "a token for pages": ("GET", "/requests/", None, {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_a_token_is_answered_as_by_all_middleware(monkeypatch, settings, name):
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example"]
    owner = alice()
    make_request(owner)
    key = create_key(owner, name="test", scopes=SCOPES)[1]
    method, path, body, headers = CALLS[name]

    def answer() -> Answer:
        return Machine(key).call(method, path, body, headers=headers)

    answer()  # From now on, the ask is a repetition.
    short = answer()
    monkeypatch.setattr(handler(), "_calls", handler())
    assert short == answer()


def test_the_page_about_the_api_sets_no_cookie_for_a_token():
    key = create_key(alice(), name="test", scopes=SCOPES)[1]
    shown = Machine(key).call("GET", "/api/v1/", headers={"accept": "text/html"})
    assert (shown.status, "set-cookie" in shown.headers) == (200, False)


def test_a_session_without_a_token_is_refused_without_a_csrf_token():
    request = make_request(alice())
    path, body = f"/api/v1/requests/{request.pk}/decision", {"verdict": "approve"}
    cookie = {"cookie": cookies_of(bob())}
    for headers in (cookie, cookie | {"authorization": "Basic Ym9iOmJvYg=="}, cookie | {"authorization": ""}):
        refused = Machine().call("POST", path, body, headers=headers)
        assert (refused.status, refused.code) == (403, "csrf"), headers
    request.refresh_from_db()
    assert request.status == "pending"


def test_a_token_changes_nothing_at_the_address_of_a_form():
    request, approver = make_request(alice()), bob()
    key = create_key(approver, name="test", scopes=SCOPES)[1]
    headers = {"cookie": cookies_of(approver), "content-type": "application/x-www-form-urlencoded"}
    refused = Machine(key).call("POST", f"/requests/{request.pk}/decide/", raw=b"verdict=approve", headers=headers)
    request.refresh_from_db()
    assert (refused.status, request.status) == (403, "pending")
    # It is not the log-in of the page either.
    assert Machine(key).get("/requests/").status == 302


def test_a_wrong_token_is_refused_whatever_the_session_may_do():
    refused = Machine("pp_00000000_x").call("GET", "/api/v1/requests", headers={"cookie": cookies_of(bob())})
    assert refused.status == 401
