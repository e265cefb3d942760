"""Authentication of `/api/`: keys, client tokens, sessions, scopes and origins."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.test import Client as Browser
from django.test import RequestFactory
from django.utils import timezone

from approvals.access import callers
from approvals.administration.keys.actions import create_key
from approvals.exceptions import NotAuthenticated
from approvals.models.keys import ApiKey
from chats.models import Chat
from tests.hitlsite.site.test_security import WITHOUT_CODES, addresses
from tests.support import people
from tests.support.machines import Client, Machine, machine

pytestmark = pytest.mark.django_db(transaction=True)
TOKENS = "/api/v1/client-tokens"
SAID = {"id": "c1", "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}]}


def test_a_call_without_key_or_session_is_refused():
    for token in ("", "x", "pp_", "pp_0000_x", "ppt_", "ppt_abc:def", "pp_" + "x" * 10_000):
        answer = Machine(token).post("/api/chat", SAID)
        assert (answer.status, answer.code, answer.headers["www-authenticate"]) == (401, "not_authenticated", "Bearer")
    assert Machine().get("/api/nowhere").status == 401


def test_every_api_path_needs_a_key_or_a_session_with_csrf_token():
    stranger, session = Browser(enforce_csrf_checks=True), Browser(enforce_csrf_checks=True)
    session.force_login(people.bob())
    found = set(addresses(for_machines=True)) - WITHOUT_CODES
    assert len(found) >= 5
    for address in found:
        refused = [stranger.get(address), stranger.post(address), session.post(address)]
        codes = [(answer.status_code, answer.json()["code"]) for answer in refused]
        assert (address, codes) == (address, [(401, "not_authenticated")] * 2 + [(403, "csrf")])


def test_an_unknown_api_path_responds_in_json():
    answer = machine(people.alice()).get("/api/nowhere")
    assert (answer.status, answer.code) == (404, "not_found")


def test_revoked_keys_and_keys_of_inactive_users_are_refused():
    alice = people.alice()
    caller = machine(alice)
    assert caller.post("/api/chat", SAID).status == 200
    ApiKey.objects.update(revoked_at=timezone.now())
    assert caller.post("/api/chat", SAID).status == 401
    ApiKey.objects.update(revoked_at=None)
    alice.is_active = False
    alice.save()
    assert caller.post("/api/chat", SAID).status == 401


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "/api/chat", "ask"),
        ("GET", "/api/chat/c1", "read"),
        ("GET", "/api/chat/c1/stream", "read"),
        ("POST", TOKENS, "ask"),
    ],
)
def test_a_key_reaches_as_far_as_its_scopes(method, path, scope):
    others = sorted({"ask", "decide", "read", "audit"} - {scope})
    answer = machine(people.alice(), *others).call(method, path, SAID)
    assert (answer.status, answer.code, scope in answer.json["detail"]) == (403, "scope_missing", True)


def test_on_a_page_for_people_a_key_is_no_reason_to_ignore_cookies_and_identifies_no_one():
    sent = {"Authorization": "Bearer pp_12345678_x"}
    pages = [RequestFactory(headers=sent).get(path) for path in ("/api/chat", "/requests/")]
    assert [callers.has_token(page) for page in pages] == [True, False]
    assert not callers.has_token(RequestFactory().get("/api/chat"))
    for page in pages:
        with pytest.raises(NotAuthenticated):
            callers.caller_of(page)


def test_the_last_use_of_a_key_is_recorded_to_the_minute():
    caller = machine(people.alice())
    caller.get("/api/chat/c1")
    first = ApiKey.objects.get().last_used_at
    caller.get("/api/chat/c1")
    assert (first is not None, ApiKey.objects.get().last_used_at) == (True, first)
    ApiKey.objects.update(last_used_at=first - timedelta(minutes=2))
    caller.get("/api/chat/c1")
    assert ApiKey.objects.get().last_used_at > first


# --- client tokens


def token_for(maker: Machine, chat: str = "c1", **given: object) -> Machine:
    answer = maker.post(TOKENS, {"chat": chat, **given})
    assert (answer.status, answer.headers["cache-control"]) == (201, "no-store")
    return Machine(answer.json["token"])


def test_a_client_token_works_only_for_its_chat():
    maker = machine(people.alice())
    tab = token_for(maker)
    Client(tab).say("hello")
    Client(maker, "c2").say("hello")
    assert [tab.get(f"/api/chat/{chat}").status for chat in ("c1", "c2")] == [200, 404]
    assert tab.post("/api/chat", SAID | {"id": "c3"}).status == 404
    assert tab.get("/api/chat/c2/stream").status == 204
    assert tab.post("/api/chat/c2/stop", None).status == 404
    assert (tab.post(TOKENS, {"chat": "c2"}).code, Chat.objects.count()) == ("not_allowed", 2)


def test_a_client_token_has_no_more_scopes_than_its_key():
    bob = people.bob()
    tab = token_for(machine(bob, "ask", "audit"))
    assert (tab.post("/api/chat", SAID).status, tab.get("/api/chat/c1").code) == (200, "scope_missing")


def test_a_client_token_ends_with_its_time_its_key_and_its_user(monkeypatch):
    alice = people.alice()
    maker = machine(alice)
    Client(maker).say("hello")
    before = timezone.now()
    tab = token_for(maker, seconds=60)
    after = timezone.now()
    for now, seconds, status in ((before, 59.9, 200), (after, 60.1, 401)):
        with monkeypatch.context() as clock:
            clock.setattr(callers.timezone, "now", lambda then=now + timedelta(seconds=seconds): then)
            assert tab.get("/api/chat/c1").status == status
    ApiKey.objects.update(revoked_at=timezone.now())
    assert tab.get("/api/chat/c1").status == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "chat"),
        ({"chat": ""}, "chat"),
        ({"chat": 5}, "chat"),
        ({"chat": "x" * 201}, "chat"),
        ({"chat": "a\0"}, "chat"),
        ({"chat": "c", "seconds": 59}, "seconds"),
        ({"chat": "c", "seconds": 3601}, "seconds"),
        ({"chat": "c", "seconds": "60"}, "seconds"),
        ({"chat": "c", "seconds": True}, "seconds"),
    ],
)
def test_an_invalid_token_request_is_refused(body, field):
    answer = machine(people.alice()).post(TOKENS, body)
    assert (answer.status, answer.code, list(answer.json["errors"])) == (422, "invalid", [field])


def test_a_tampered_token_is_refused():
    tab = token_for(machine(people.alice()))
    for place in (4, 10, len(tab.token) - 1):
        changed = tab.token[:place] + ("x" if tab.token[place] != "x" else "y") + tab.token[place + 1 :]
        assert Machine(changed).get("/api/chat/c1").status == 401


# --- sessions


def test_a_session_needs_its_csrf_token_and_makes_a_token_for_itself():
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(people.alice())
    sent = {"data": json.dumps({"chat": "c1"}), "content_type": "application/json"}
    refused = browser.post(TOKENS, **sent)
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    browser.get("/")
    made = browser.post(TOKENS, **sent, headers={"X-CSRFToken": browser.cookies["csrftoken"].value})
    assert (made.status_code, made.json()["scopes"]) == (201, ["ask", "decide", "read"])
    Client(Machine(made.json()["token"])).say("hello")
    assert Chat.objects.get().owner.username == "alice"


def test_a_session_does_not_replace_an_invalid_key():
    browser = Browser()
    browser.force_login(people.alice())
    answer = browser.get("/api/chat/c1", headers={"Authorization": "Bearer pp_0_0"})
    assert answer.status_code == 401


def test_a_key_acts_for_its_own_user_despite_cookies():
    alice, bob = people.alice(), people.bob()
    browser = Browser(enforce_csrf_checks=True)
    browser.force_login(alice)
    key = create_key(bob, name="bot", scopes=("ask",))[1]
    made = browser.post(
        TOKENS, json.dumps({"chat": "c1"}), content_type="application/json", headers={"Authorization": f"Bearer {key}"}
    )
    assert callers.caller_by_token(made.json()["token"]).user == bob


# --- origins


def preflight(caller: Machine, origin: str, path: str = "/api/chat"):
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    return caller.call("OPTIONS", path, headers=headers).headers


def test_only_listed_origins_may_call_and_never_with_cookies(settings):
    caller = Machine()
    assert "access-control-allow-origin" not in preflight(caller, "https://shop.example.org")
    settings.CORS_ALLOWED_ORIGINS = ["https://shop.example.org"]
    allowed = preflight(caller, "https://shop.example.org")
    assert allowed["access-control-allow-origin"] == "https://shop.example.org"
    assert "authorization" in allowed["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in allowed
    assert "access-control-allow-origin" not in preflight(caller, "https://evil.example.org")
    assert "access-control-allow-origin" not in preflight(caller, "https://shop.example.org", "/login/")


def test_a_stream_and_a_refusal_carry_the_origin_too(settings):
    settings.CORS_ALLOWED_ORIGINS = ["https://shop.example.org"]
    origin = {"origin": "https://shop.example.org"}
    caller = machine(people.alice())
    answers = [caller.post("/api/chat", SAID, headers=origin), caller.post("/api/chat", {}, headers=origin)]
    assert [(answer.status, answer.headers["access-control-allow-origin"]) for answer in answers] == [
        (200, "https://shop.example.org"),
        (422, "https://shop.example.org"),
    ]
    assert answers[0].headers["x-vercel-ai-ui-message-stream"] == "v1"
