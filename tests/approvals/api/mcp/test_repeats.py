"""Calls that are sent again, and what is reported of them."""

from __future__ import annotations

import pytest

from approvals.api.mcp import calls
from approvals.models import ApprovalRequest, AuditEntry
from approvals.runtime.canonical import utc
from approvals.states import Verdict
from tests.approvals.api.mcp.agent import QUESTION, REFUND, Agent, decide, only
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


def test_the_same_named_call_is_one_request_forever():
    agent, decider = Agent(alice()), bob()
    meta = {"claudecode/toolUseId": "toolu_9", "sessionId": "s-1"}
    agent.call("request_approval", REFUND, meta=meta)
    decide(decider, Verdict.APPROVE)
    assert agent.call("request_approval", REFUND, meta=meta).outcome["status"] == "approved"
    assert (only().workflow.thread_id, agent.call("request_approval", REFUND).outcome["status"]) == ("s-1", "pending")


def test_an_unnamed_call_is_the_same_request_while_that_waits():
    agent, decider = Agent(alice()), bob()
    found = [agent.call("request_approval", REFUND).outcome["request_id"] for _ in range(2)]
    assert found == [str(only().pk)] * 2
    decide(decider, Verdict.APPROVE)
    # One approval is for one call: the same action again needs another.
    again = [agent.call("request_approval", REFUND).outcome for _ in range(2)]
    assert [one["status"] for one in again] == ["pending", "pending"]
    assert {one["request_id"] for one in again} | set(found) == {
        str(pk) for pk in ApprovalRequest.objects.values_list("pk", flat=True)
    }
    assert ApprovalRequest.objects.count() == 2


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


def test_a_result_of_another_input_is_on_record_but_is_no_result():
    agent, decider = Agent(alice()), bob()
    agent.call("request_approval", REFUND)
    decide(decider, Verdict.APPROVE)
    ran = {"request_id": str(only().pk), "output": 1, "input": {"order": "4711", "amount": 9999}}
    refusal = agent.call("report_result", ran).refusal
    assert refusal.startswith("The input that ran is not the approved input.")
    assert not AuditEntry.objects.filter(event="tool.result").exists()
    both = {"request_id": str(only().pk), "output": 1, "error": "x"}
    assert agent.call("report_result", both).refusal.startswith("Send either an output or an error.")
    assert Agent(decider).call("report_result", {**both, "error": None}).refusal.startswith("Only the client that made")
