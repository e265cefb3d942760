"""Credentials and scopes of the API; unknown methods and addresses."""

from __future__ import annotations

import pytest

from approvals.access.callers import SCOPES, caller_by_token, client_token
from approvals.administration.keys.actions import create_key
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db


def test_a_key_without_the_scope_may_not_ask():
    assert Machine(alice(), ("read",)).post("/requests", APPROVAL).refusal == (403, "scope_missing")


def test_an_unknown_caller_gets_401_without_mention_of_csrf():
    nobody = Machine()
    nobody.client.handler.enforce_csrf_checks = True
    for token in ("", "Bearer ", "Bearer nonsense", "Bearer pp_x_y", "Basic YTpi"):
        headers = {"authorization": token} if token else {}
        reply = nobody.post("/requests", APPROVAL, **headers)
        assert (reply.refusal, reply.headers["www-authenticate"]) == ((401, "not_authenticated"), "Bearer")
        wrong = token.startswith("Bearer ") and token != "Bearer "
        assert reply.body["detail"].startswith("This key or token is " if wrong else "Authentication is required.")


def test_a_client_token_is_refused_it_is_for_a_chat():
    _, text = create_key(alice(), name="k", scopes=SCOPES)
    token = client_token(caller_by_token(text), thread="chat-1")
    browser = Machine(authorization=f"Bearer {token}")
    assert browser.post("/requests", APPROVAL).refusal == (403, "not_allowed")
    assert browser.get("/requests").refusal == (403, "not_allowed")


def test_a_session_asks_with_its_csrf_token_and_not_without():
    person = mallory()
    browser = Machine()
    browser.client.handler.enforce_csrf_checks = True
    browser.client.force_login(person)
    assert browser.post("/requests", APPROVAL).refusal == (403, "csrf")
    token = "a" * 32
    browser.client.cookies["csrftoken"] = token
    asked = browser.post("/requests", APPROVAL, x_csrftoken=token)
    assert (asked.status, asked.body["scope"]) == (201, f"user:{person.pk}")


NOTHING = "0" * 8 + "-0000-4000-8000-" + "0" * 12


def test_absent_and_forbidden_requests_look_alike():
    asked = Machine(alice()).ask(workflow_id="run-1")
    stranger = Machine(mallory())
    for request in (asked["id"], NOTHING):
        replies = [
            stranger.get(f"/requests/{request}"),
            stranger.post(f"/requests/{request}/decision", {"verdict": "approve"}),
            stranger.post(f"/requests/{request}/cancel"),
            stranger.post(f"/requests/{request}/result", {"input_digest": "sha256:" + "0" * 64, "output": 1}),
        ]
        assert {(reply.refusal, reply.body["detail"]) for reply in replies} == {
            ((404, "not_found"), "Request not found. It may not exist, or you may not have access.")
        }
    found = [stranger.get(f"/workflows/run-1?scope={asked['scope']}"), stranger.get("/workflows/run-1")]
    found.append(stranger.post("/workflows/run-1/end", {"outcome": "failed"}))
    assert {reply.refusal for reply in found} == {(404, "not_found")}
    assert stranger.get("/requests").body == {"items": [], "next": None}


def test_an_auditor_sees_everything_and_changes_nothing():
    asked = Machine(alice()).ask(QUESTION)
    auditor = Machine(carol())
    assert auditor.get(f"/requests/{asked['id']}").body == asked
    assert [one["id"] for one in auditor.get("/requests").body["items"]] == [asked["id"]]
    assert auditor.decide(asked, "respond", answer="M").refusal == (403, "not_allowed")
    assert auditor.post(f"/requests/{asked['id']}/cancel").refusal == (403, "not_allowed")


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("POST", "/requests", "ask"),
        ("GET", "/requests", "read"),
        ("GET", f"/requests/{NOTHING}", "read"),
        ("POST", f"/requests/{NOTHING}/decision", "decide"),
        ("POST", f"/requests/{NOTHING}/cancel", "ask"),
        ("POST", f"/requests/{NOTHING}/result", "ask"),
        ("GET", "/workflows/w", "read"),
        ("POST", "/workflows/w/end", "ask"),
        ("GET", "/audit", "audit"),
    ],
)
def test_each_address_needs_its_scope(method, path, scope):
    bodies = {"decision": b'{"verdict": "approve"}', "end": b'{"outcome": "failed"}', "cancel": b"{}"}
    bodies["result"] = b'{"input_digest": "sha256:%s", "output": 1}' % (b"0" * 64)
    bodies["requests"] = b'{"kind": "question", "title": "x"}'
    body = bodies.get(path.rpartition("/")[2], b"")
    machine = Machine(bob(), tuple(set(SCOPES) - {scope}))
    assert machine.send(method, path, body).refusal == (403, "scope_missing")


@pytest.mark.parametrize("path", ["/requests", f"/requests/{NOTHING}", "/workflows/w", "/audit", "/", "/openapi.json"])
def test_other_methods_are_refused_with_the_allowed_ones(path):
    machine = Machine(bob())
    allowed = "GET, HEAD, OPTIONS" + (", POST" if path == "/requests" else "")
    for method in ("PUT", "PATCH", "DELETE", "TRACE"):
        reply = machine.send(method, path)
        assert (reply.refusal, reply.headers["allow"]) == ((405, "method_not_allowed"), allowed)
    assert machine.send("OPTIONS", path)[:2] == (204, None)
    assert machine.send("OPTIONS", path).headers["allow"] == allowed


def test_head_is_get_without_a_body():
    machine = Machine(bob())
    asked = machine.ask()
    for path in ("/requests", f"/requests/{asked['id']}", "/openapi.json"):
        assert (machine.send("HEAD", path).status, machine.send("HEAD", path).body) == (200, None)
    assert machine.send("HEAD", f"/requests/{NOTHING}").status == 404


@pytest.mark.parametrize("path", ["/nothing", "/requests/", "/requests/x", "/requests/x/decision", "/workflows", "/v2"])
def test_an_unknown_address_is_a_problem_document(path):
    assert Machine(bob()).get(path).refusal == (404, "not_found")


def test_a_revoked_key_is_refused():
    machine = Machine(alice())
    machine.key.revoked_at = machine.key.created_at
    machine.key.save()
    assert machine.get("/requests").refusal == (401, "not_authenticated")
