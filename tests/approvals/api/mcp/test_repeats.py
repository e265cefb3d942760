"""Calls that are sent again, and the reports on them."""

from __future__ import annotations

import asyncio

import pytest
from django.db import connections

from approvals import actions
from approvals.api.mcp import calls
from approvals.asking.answers import Answer
from approvals.background import waiting_room
from approvals.db.canonical_json import utc
from approvals.db.pool import run
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Door, Verdict
from tests.approvals.api.mcp.agent import QUESTION, REFUND, WRITE, Agent, Response, decide, only
from tests.approvals.api.test_ask_human_waiting import NEVER
from tests.support.machines import served
from tests.support.people import alice, bob
from tests.support.waiting import until_clients_wait

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


@pytest.fixture
def waits(nothing_waits, monkeypatch):
    monkeypatch.setattr(calls, "WAIT", 20.0)
    monkeypatch.setattr(waiting_room, "POLL", NEVER)


def test_the_same_named_call_is_one_request_forever():
    agent, decider = Agent(alice()), bob()
    meta = {"claudecode/toolUseId": "toolu_9", "sessionId": "s-1"}
    agent.call("request_approval", REFUND, meta=meta)
    decide(decider, Verdict.APPROVE)
    assert agent.call("request_approval", REFUND, meta=meta).outcome["status"] == "approved"
    assert (only().workflow.thread_id, agent.call("request_approval", REFUND).outcome["status"]) == ("s-1", "pending")


@pytest.mark.parametrize("session", ["", "s-1"])
def test_calls_under_one_id_with_different_inputs_are_asked_about_each_and_find_their_own_request_again(session):
    agent, decider = Agent(alice()), bob()
    meta = {"sessionId": session} if session else {}
    inputs = [{"path": f"{name}.txt"} for name in "abc"]
    for tool_input in inputs * 2:
        agent.call("permission", WRITE | {"input": tool_input}, meta=meta)
    made = list(ApprovalRequest.objects.order_by("created_at"))
    call_id = f"{session}:toolu_1".lstrip(":")
    assert [request.tool_call_id for request in made] == [call_id, f"{call_id}#2", f"{call_id}#3"]
    actions.decide(made[1].pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
    heard = [
        agent.call("permission", WRITE | {"input": tool_input}, meta=meta).value["behavior"] for tool_input in inputs
    ]
    assert (heard, ApprovalRequest.objects.count()) == (["deny", "allow", "deny"], 3)


def test_a_named_call_gets_its_own_result_again_after_another_call_under_its_id():
    agent, decider = Agent(alice()), bob()
    meta = {"claudecode/toolUseId": "call_1"}
    first = agent.call("request_approval", REFUND, meta=meta).outcome["request_id"]
    decide(decider, Verdict.APPROVE)
    agent.call("report_result", {"request_id": first, "output": "refunded"})
    other = REFUND | {"input": {"order": "4712", "amount": 1}}
    assert agent.call("request_approval", other, meta=meta).outcome["status"] == "pending"
    again = agent.call("request_approval", REFUND, meta=meta).outcome
    assert (again["request_id"], again["result"]["output"]) == (first, "refunded")
    assert ApprovalRequest.objects.count() == 2


def test_an_unnamed_call_is_the_same_request_while_that_waits_and_one_call_takes_the_decision():
    agent, decider = Agent(alice()), bob()
    found = [agent.call("request_approval", REFUND).outcome["request_id"] for _ in range(2)]
    assert found == [str(only().pk)] * 2
    decide(decider, Verdict.APPROVE)
    # No answer has carried the approval, so the next call gets it. One approval is for one call: others need another.
    again = [agent.call("request_approval", REFUND).outcome for _ in range(3)]
    assert [one["status"] for one in again] == ["approved", "pending", "pending"]
    assert [one["request_id"] in found for one in again] == [True, False, False]
    assert ApprovalRequest.objects.count() == 2


def test_a_check_takes_the_decision_too_and_later_ones_hear_who_did():
    agent, decider = Agent(alice()), bob()
    request = {"request_id": agent.call("request_approval", REFUND).outcome["request_id"]}
    decide(decider, Verdict.APPROVE)
    first, second = (agent.call("check_request", request).outcome for _ in range(2))
    assert (first["status"], first["input"]) == ("approved", REFUND["input"])
    holder = f"test client, API key test of alice, at {utc(only().taken_at)}"
    words = f"A person approved one call, and another call has already used that approval: {holder}."
    assert second == {
        "request_id": request["request_id"],
        "status": "taken",
        "url": only().public_url,
        "message": f"{words} So do not run it. To run it again, call request_approval again.",
    }
    assert agent.call("request_approval", REFUND).outcome["status"] == "pending"


def test_a_check_after_the_result_was_reported_has_that_result():
    agent = Agent(alice())
    request = {"request_id": agent.call("request_approval", REFUND).outcome["request_id"]}
    decide(bob(), Verdict.APPROVE)
    agent.call("check_request", request)
    agent.call("report_result", {**request, "output": "refunded"})
    checked = agent.call("check_request", request).outcome
    assert (checked["status"], checked["result"]["output"]) == ("taken", "refunded")
    assert checked["message"] == "This has run already, and its result was reported. Do not run it again."


def test_another_client_that_reads_an_approval_takes_nothing_from_who_asked():
    agent, decider = Agent(alice()), bob()
    reader = Agent(decider)
    request = {"request_id": agent.call("request_approval", REFUND).outcome["request_id"]}
    decide(decider, Verdict.APPROVE)
    read = reader.call("check_request", request).outcome
    assert (read["status"], read["by"], read["message"]) == (
        "approved",
        "bob",
        "A person approved this for the program that requested it, not for you. Do not run it.",
    )
    assert (only().taker, agent.call("request_approval", REFUND).outcome["status"]) == ("", "approved")


def test_a_rejection_and_an_answer_may_be_read_again():
    agent, decider = Agent(alice()), bob()
    asked = agent.call("ask_human", QUESTION).outcome
    decide(decider, Verdict.RESPOND, answer="Red")
    read = [agent.call("check_request", {"request_id": asked["request_id"]}).outcome["answer"] for _ in range(2)]
    assert (read, agent.call("ask_human", QUESTION).outcome["status"]) == (["Red", "Red"], "pending")


def test_an_answer_that_nobody_heard_belongs_to_the_next_equal_question():
    agent, decider = Agent(alice()), bob()
    agent.call("ask_human", QUESTION)
    decide(decider, Verdict.RESPOND, answer="Red")
    again = [agent.call("ask_human", QUESTION).outcome for _ in range(2)]
    assert [(one["status"], one.get("answer")) for one in again] == [("answered", "Red"), ("pending", None)]


def test_a_reported_result_ends_what_an_unnamed_call_may_take_and_a_named_one_reads_it():
    agent, decider = Agent(alice()), bob()
    named = {"meta": {"claudecode/toolUseId": "toolu_9"}}
    for meta in ({}, named):
        request = {"request_id": agent.call("request_approval", REFUND, **meta).outcome["request_id"]}
        actions.decide(request["request_id"], Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
        agent.call("report_result", request | {"output": 1})
    assert agent.call("request_approval", REFUND).outcome["status"] == "pending"
    again = agent.call("request_approval", REFUND, **named).outcome
    assert (again["result"]["output"], again["message"].startswith("This has run already")) == (1, True)


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("modern", [True, False])
def test_of_four_clients_that_wait_together_one_takes_the_approval(modern):
    user, decider = alice(), bob()
    agents = [Agent(user, modern=modern)] * 4

    async def story() -> list[Response]:
        waiting = [asyncio.ensure_future(agent.acall("request_approval", REFUND)) for agent in agents]
        await until_clients_wait(len(waiting))
        await run(decide, decider, Verdict.APPROVE)
        return list(await asyncio.gather(*waiting))

    outcomes = [response.outcome for response in served(story)]
    assert sorted(one["status"] for one in outcomes) == ["approved", "taken", "taken", "taken"]
    assert [sorted(one) for one in outcomes if "input" in one] == [
        ["by", "input", "message", "request_id", "status", "url"]
    ]
    connections.close_all()


def test_the_error_of_a_call_that_failed_while_it_waited_names_its_request(monkeypatch, settings):
    monkeypatch.setattr(calls, "WAIT", 0.3)
    agent = Agent(alice())

    async def story() -> Response:
        waiting = asyncio.ensure_future(agent.acall("request_approval", REFUND))
        await until_clients_wait()
        # A row that says that there is a decision, where there is none.
        await run(ApprovalRequest.objects.update, status="approved")
        return await waiting

    (message,) = served(story).messages
    pk = str(ApprovalRequest.objects.values_list("pk", flat=True).get())
    assert message["error"] == {
        "code": -32603,
        "message": f"Internal error. The request is kept: call check_request with the request_id {pk}.",
        "data": {"request_id": pk, "url": f"{settings.PUBLIC_URL}/requests/{pk}/"},
    }
    connections.close_all()


def test_a_call_that_goes_on_in_other_messages_keeps_what_it_has_taken():
    agent, decider = Agent(alice(), links=True), bob()
    state = {"requestState": agent.call("request_approval", REFUND).result["requestState"]}
    other = {"requestState": agent.call("request_approval", REFUND).result["requestState"]}
    decide(decider, Verdict.APPROVE)
    # As after a server that was killed before its answer arrived.
    rounds = [agent.call("request_approval", REFUND, **held).outcome["status"] for held in (state, state, other, state)]
    assert rounds == ["approved", "approved", "taken", "approved"]


def test_other_arguments_sessions_and_keys_make_other_requests():
    user = alice()
    agent, other = Agent(user), Agent(user)
    agent.call("ask_human", QUESTION)
    agent.call("ask_human", QUESTION | {"priority": "high"})
    agent.call("ask_human", QUESTION, meta={"session_id": "s-2"})
    other.call("ask_human", QUESTION)
    assert ApprovalRequest.objects.count() == 4


def test_a_result_is_recorded_once():
    agent, decider = Agent(alice()), bob()
    agent.call("request_approval", REFUND)
    report = {"request_id": str(only().pk), "output": {"refunded": 250}}
    assert (
        agent.call("report_result", report).refusal
        == "Only an approved call can have a result. This approval is waiting."
    )
    decide(decider, Verdict.APPROVE)
    assert agent.call("report_result", report).outcome == {}
    assert agent.call("report_result", report | {"input": REFUND["input"]}).outcome == {}
    (entry,) = AuditEntry.objects.filter(event="tool.result")
    assert (entry.via, entry.data["output"], entry.data["state"]) == ("mcp", {"refunded": 250}, "succeeded")
    known = agent.call("check_request", {"request_id": str(only().pk)}).outcome
    assert known["message"] == "This has run already, and its result was reported. Do not run it again."
    assert known["result"] == {
        "state": "succeeded",
        "output": {"refunded": 250},
        "executed_digest": only().input_digest,
        "reported_at": utc(entry.at),
    }
    words = "A different result was already reported for this call."
    assert agent.call("report_result", {"request_id": str(only().pk), "error": "Timeout"}).refusal == words


def test_a_result_of_an_input_with_a_hidden_value_is_compared_with_its_salt():
    agent, decider, hidden = Agent(alice()), bob(), {"door": "north", "pin": "7316"}
    agent.call("request_approval", REFUND | {"input": hidden})
    decide(decider, Verdict.APPROVE)
    report = {"request_id": str(only().pk), "output": "open"}
    other = agent.call("report_result", report | {"input": hidden | {"pin": "0000"}})
    assert other.refusal.startswith("The input that ran differs from the approved input.")
    assert agent.call("report_result", report | {"input": hidden}).outcome == {}


def test_a_result_of_another_input_is_on_record_but_is_no_result():
    agent, decider = Agent(alice()), bob()
    agent.call("request_approval", REFUND)
    decide(decider, Verdict.APPROVE)
    ran = {"request_id": str(only().pk), "output": 1, "input": {"order": "4711", "amount": 9999}}
    refusal = agent.call("report_result", ran).refusal
    assert refusal.startswith("The input that ran differs from the approved input.")
    assert not AuditEntry.objects.filter(event="tool.result").exists()
    both = {"request_id": str(only().pk), "output": 1, "error": "x"}
    assert agent.call("report_result", both).refusal.startswith("Send either an output or an error.")
    assert Agent(decider).call("report_result", {**both, "error": None}).refusal.startswith("Only the client that made")
