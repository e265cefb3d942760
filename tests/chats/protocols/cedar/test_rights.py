"""Permissions: only the key counts, not the body; scopes, client tokens, sessions and other origins."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from approvals.models import ApprovalRequest, Decision
from chats.models import Chat
from tests.support import people
from tests.support.chats.front_end import FrontEnd, front_end, refusal, shown
from tests.support.machines import Machine, machine

pytestmark = pytest.mark.django_db(transaction=True)

YES = {"approved": True}
ORIGIN = "https://shop.example.org"


def stored() -> list[Any]:
    return [list(table.objects.order_by("pk").values()) for table in (ApprovalRequest, Decision, Chat)]


@pytest.mark.parametrize("path", ["/chat", "/chat/stream", "/chat/resume", "/chat/resume/stream", "/chat/cancel"])
def test_every_endpoint_needs_a_key(path):
    for token in ("", "pp_12345678_wrong"):
        answer = Machine(token).post(path, {"prompt": "hello"})
        assert (answer.status, answer.code, answer.headers["www-authenticate"]) == (401, "not_authenticated", "Bearer")


def test_other_methods_and_addresses_are_refused_in_json():
    caller = machine(people.alice())
    assert (caller.get("/chat/stream").code, caller.get("/chat").headers["allow"]) == ("method_not_allowed", "POST")
    assert caller.post("/chat/suspended", {}).code == "method_not_allowed"
    for path in ("/chat/nowhere", "/chat/", "/chat/resume/"):
        assert (caller.get(path).status, caller.get(path).code) == (404, "not_found")


def test_keys_do_not_open_pages():
    assert machine(people.bob()).get("/chats/").status == 302


def test_a_claimed_resource_or_thread_reaches_only_the_callers_chats():
    alice = front_end(people.alice(), thread="shared")
    run = alice.paused("approve payment")
    mallory = front_end(people.mallory(), thread="shared")
    assert shown(mallory.say("hello", resourceId="alice"))
    assert {chat.owner.username for chat in Chat.objects.filter(public_id="shared")} == {"alice", "mallory"}
    before = stored()
    answer = mallory.resume(run, YES, stream=False, resourceId="alice")
    assert (answer.status, answer.code) == (404, "not_found")
    assert (
        refusal(mallory.resume(run, YES, resourceId="alice"))
        == "Request not found. It may not exist, or you may not have access."
    )
    assert mallory.machine.post("/chat/cancel", {"runId": run["runId"]}).code == "not_found"
    assert mallory.open_runs("shared") == mallory.open_runs() == []
    assert stored() == before


def test_an_owner_who_may_not_decide_can_answer_and_cancel_but_not_approve():
    alice = front_end(people.alice())
    run = alice.paused("approve payment")
    answer = alice.resume(run, YES, stream=False)
    assert (answer.status, answer.code) == (403, "not_allowed")
    assert "you cannot decide it" in refusal(alice.resume(run, YES))
    assert alice.machine.post("/chat/cancel", {"runId": run["runId"]}).status == 200
    alice.thread = "thread-2"
    assert shown(alice.resume(alice.paused("ask human"), "fine")) == ["I was told: fine"]


def test_an_approver_may_resume_and_follow_another_persons_run():
    run = front_end(people.alice()).paused("approve payment")
    (text,) = shown(front_end(people.bob()).resume(run, YES))
    assert text.startswith("The payment is settled")


def test_an_assignee_who_may_not_read_the_chat_gets_no_stream():
    run = front_end(people.alice()).paused("ask human")
    dora = people.make_person("dora")
    ApprovalRequest.objects.update(assigned_to=dora)
    (note,) = shown(front_end(dora).resume(run, "Offer a free return"))
    assert note == {"type": "progress_update", "state": "complete", "text": "Recorded."}


def test_an_assignee_without_the_right_to_decide_cannot_approve():
    run = front_end(people.alice()).paused("approve payment")
    dora = people.make_person("dora")
    ApprovalRequest.objects.update(assigned_to=dora)
    assert front_end(dora).resume(run, YES, stream=False).code == "not_allowed"


def test_an_auditor_may_read_a_run_but_not_resume_it():
    run = front_end(people.alice()).paused("ask human")
    carol = front_end(people.carol())
    assert carol.resume(run, "x", stream=False).code == "not_allowed"
    assert carol.machine.post("/chat/cancel", {"runId": run["runId"]}).code == "not_allowed"


def test_a_request_from_outside_the_chats_is_not_a_run():
    caller = machine(people.bob())
    asked = caller.post("/api/v1/requests", {"kind": "approval", "title": "Deploy?", "tool_name": "deploy"}).json
    page = FrontEnd(caller)
    answer = page.resume({"runId": asked["id"], "stepPath": [["deploy"]]}, YES, stream=False)
    assert (answer.status, answer.code, page.open_runs()) == (404, "not_found", [])


def test_each_endpoint_needs_its_scope():
    bob = people.bob()
    reader, asker = FrontEnd(machine(bob, "read")), FrontEnd(machine(bob, "ask"))
    run = asker.paused("approve payment")
    assert reader.ask("hello").code == "scope_missing"
    assert "does not have the scope “ask”" in refusal(reader.say("hello"))
    assert asker.resume(run, YES, stream=False).code == "scope_missing"
    assert asker.machine.get("/chat/suspended").code == "scope_missing"
    assert reader.machine.post("/chat/cancel", {"runId": run["runId"]}).code == "scope_missing"
    assert FrontEnd(machine(bob, "decide")).resume(run, YES, stream=False).status == 200


def test_a_key_without_the_decide_scope_cannot_answer_by_message():
    page = front_end(people.alice(), "ask")
    page.paused("ask human")
    assert page.ask("Offer a free return").code == "approval_pending"
    assert Decision.objects.count() == 0


def test_a_client_token_is_good_for_its_thread_only():
    bob = people.bob()
    other = FrontEnd(machine(bob), "other").paused("approve payment")
    token = machine(bob).post("/api/v1/client-tokens", {"chat": "mine"}).json["token"]
    page = FrontEnd(Machine(token), "mine")
    run = page.paused("approve payment")
    assert page.open_runs() == page.open_runs("mine") == [run["runId"]]
    assert page.machine.get("/chat/suspended?threadId=other").code == "not_found"
    assert page.ask("hello", threadId="other").code == "not_found"
    assert page.resume(other, YES, stream=False).code == "not_found"
    assert page.machine.post("/chat/cancel", {"runId": other["runId"]}).code == "not_found"
    assert page.resume(run, YES, stream=False, threadId="other").status == 200
    assert page.ask("hello", threadId="").json["threadId"] == "mine"


def test_a_session_needs_the_csrf_token():
    people.bob()
    browser = Client(enforce_csrf_checks=True)
    assert browser.login(username="bob", password=people.PASSWORD)
    browser.get("/")
    body = json.dumps({"runId": "nonsense"})
    refused = browser.post("/chat/cancel", body, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
    token = browser.cookies["csrftoken"].value
    taken = browser.post("/chat/cancel", body, "application/json", headers={"X-CSRFToken": token})
    assert (taken.status_code, taken.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/chat", "/chat/stream", "/chat/resume/stream", "/chat/suspended", "/chat/cancel"])
def test_a_preflight_from_a_listed_origin_is_answered(path, settings):
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]
    asked = {
        "origin": ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type",
    }
    found = Machine().call("OPTIONS", path, headers=asked)
    assert (found.status, found.headers["access-control-allow-origin"]) == (200, ORIGIN)
    allowed = found.headers["access-control-allow-headers"]
    assert "authorization" in allowed
    assert "content-type" in allowed
    assert "access-control-allow-credentials" not in found.headers
    stranger = Machine().call("OPTIONS", path, headers=asked | {"origin": "https://elsewhere.example"})
    assert "access-control-allow-origin" not in stranger.headers


def test_a_stream_and_a_refusal_can_be_read_from_a_listed_origin(settings):
    settings.CORS_ALLOWED_ORIGINS = [ORIGIN]
    page = front_end(people.alice())
    for body in (page.body("hello"), page.body("")):
        answer = page.machine.post("/chat/stream", body, headers={"origin": ORIGIN})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, ORIGIN)
    answer = Machine().post("/chat", {}, headers={"origin": ORIGIN})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (401, ORIGIN)
    people_page = Machine().call(
        "OPTIONS", "/chats/", headers={"origin": ORIGIN, "access-control-request-method": "GET"}
    )
    assert "access-control-allow-origin" not in people_page.headers
