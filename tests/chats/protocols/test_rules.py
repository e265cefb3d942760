"""Calls of a chat client decided by rules: they run or are denied within one answer, or end the run."""

from __future__ import annotations

import pytest

from approvals.background.sweep import expire_due_requests
from approvals.models import ApprovalRequest, Decision
from chats.models import ToolCall, Turn
from tests.support.chats.front_end import front_end, refusal, runs, shown
from tests.support.chats.wire_rules import problems
from tests.support.desk.requests import PAST
from tests.support.desk.ruling import apply_policy
from tests.support.machines import Client, machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

ALLOW = {"name": "Small", "then": "allow"}
DENY = {"name": "Never", "then": "deny", "message": "Ask finance."}
HALT = {"name": "Stop", "then": "ask", "ask": {"deadline": {"after": 600, "then": "halt"}}}


def pass_deadline() -> None:
    ApprovalRequest.objects.filter(status="pending").update(deadline_at=PAST)
    expire_due_requests()


def decided() -> list[tuple[str, str]]:
    return list(Decision.objects.values_list("verdict", "via"))


@pytest.mark.shows("ai-sdk", "allowed")
def test_an_ai_sdk_client_gets_the_result_of_an_allowed_call_without_an_approval_part():
    apply_policy(ALLOW)
    client = Client(machine(alice()))
    answer = client.say("approve refund")
    assert (problems(answer.chunks), "tool-approval-request" in answer.types) == ([], False)
    assert ([part["state"] for part in client.calls()], decided()) == (["output-available"], [("approve", "rule")])


@pytest.mark.shows("ai-sdk", "denied")
def test_an_ai_sdk_client_is_shown_that_a_call_was_denied_and_why():
    apply_policy(DENY)
    client = Client(machine(alice()))
    answer = client.say("approve refund")
    assert (problems(answer.chunks), "tool-output-denied" in answer.types) == ([], True)
    (part,) = client.calls()
    assert (part["state"], part["approval"]["approved"], part["approval"]["reason"]) == (
        "output-denied",
        False,
        "Ask finance.",
    )
    assert (decided(), ToolCall.objects.get().attempt) == ([("reject", "rule")], 0)


@pytest.mark.shows("ai-sdk", "halted")
def test_the_turn_of_an_ai_sdk_client_is_stopped_and_takes_no_answer():
    apply_policy(HALT)
    client = Client(machine(bob()))
    client.say("approve refund")
    pass_deadline()
    late = client.rule(True)
    assert (late.status, late.code, late.json["halted"]) == (410, "expired", True)
    assert (client.read()["status"], Turn.objects.get().state, ToolCall.objects.get().attempt) == ("idle", "stopped", 0)
    (part,), last = client.calls(), client.last["parts"][-1]
    assert (part["state"], part["errorText"], last["text"]) == (
        "output-error",
        "No one decided before the deadline, so the policy stopped the run.",
        "(Stopped before anything more was said.)",
    )


@pytest.mark.shows("cedar", "allowed")
def test_a_cedar_front_end_gets_the_result_of_an_allowed_call_and_nothing_to_decide():
    apply_policy(ALLOW)
    page = front_end(alice())
    answer = page.say("approve payment")
    assert (runs(answer), decided()) == ([], [("approve", "rule")])
    assert "The payment is settled" in str(shown(answer))


@pytest.mark.shows("cedar", "denied")
def test_a_cedar_front_end_is_told_why_a_call_was_denied():
    apply_policy(DENY)
    page = front_end(alice())
    answer = page.say("approve payment")
    assert (runs(answer), decided(), ToolCall.objects.get().attempt) == ([], [("reject", "rule")], 0)
    assert "Ask finance." in str(shown(answer))


@pytest.mark.shows("cedar", "halted")
def test_the_run_of_a_cedar_front_end_is_stopped_and_takes_no_answer():
    apply_policy(HALT)
    page = front_end(bob())
    run = page.paused("approve payment")
    pass_deadline()
    assert page.open_runs() == []
    assert refusal(page.resume(run, {"approved": True})).startswith("This request expired at ")
    late = page.resume(run, {"approved": True}, stream=False)
    assert (late.status, late.code, late.json["halted"]) == (410, "expired", True)
    assert (Turn.objects.get().state, ToolCall.objects.get().attempt) == ("stopped", 0)
