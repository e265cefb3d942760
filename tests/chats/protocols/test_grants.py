"""Calls covered by a grant run within one answer to a chat client, which is asked nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, AuditEntry
from approvals.policy.grants import GrantTerms
from approvals.states import Audience, Door, Verdict, Width
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool
from chats.models import Turn
from tests.support.chats.front_end import FrontEnd, front_end, runs, shown
from tests.support.chats.turns import run
from tests.support.chats.wire_rules import problems
from tests.support.machines import Client, machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)

DONE = "The refund is settled: orderId A-1001, amount 120.0, status refunded, executions 2"


@tool(needs_approval=True)
def book(amount: int) -> str:
    """Book an amount."""
    return f"booked {amount}"


FIVE, SIX = Use("book", {"amount": 5}), Use("book", {"amount": 6})
clerk = Agent(
    name="clerk",
    tools=(book,),
    script=(
        Conversation("^both", [[FIVE, SIX], [Say("Done: {answers}", pause=0)]]),
        Conversation("^book", [[FIVE], [Say("Done: {answers}", pause=0)]]),
    ),
)


def grant_the_waiting(by: User) -> None:
    """Approve the pending call, with a grant for its conversation, and run its turn to the end."""
    terms = GrantTerms(width=Width.INPUT, audience=Audience.THREAD, uses=3)
    request = ApprovalRequest.objects.get(status="pending")
    desk.decide(request.pk, Answer(Verdict.APPROVE, grant=terms), by=by, via=Door.DASHBOARD)
    run(Turn.objects.get())


def uses() -> list[tuple[str, Any]]:
    """Return the giver and the protocol of a grant's use, from the audit log."""
    return list(AuditEntry.objects.filter(event="grant.used").values_list("actor_name", "via"))


@pytest.mark.shows("ai-sdk", "unasked")
def test_an_ai_sdk_client_gets_the_result_in_one_answer_without_an_approval_part():
    client, decider = Client(machine(alice())), bob()
    client.say("approve refund")
    grant_the_waiting(decider)
    answer = client.say("approve refund")
    types = list(dict.fromkeys(kind for kind in answer.types if "delta" not in kind))
    assert (problems(answer.chunks), types) == (
        [],
        [
            *("start", "start-step", "text-start", "text-end", "tool-input-start", "tool-input-available"),
            *("tool-output-available", "finish-step", "message-metadata", "finish"),
        ],
    )
    part, last = client.calls()[0], client.last["parts"][-1]
    request = ApprovalRequest.objects.latest("created_at")
    assert (part["state"], part["approval"], last["text"]) == (
        "output-available",
        {"id": str(request.pk), "approved": True},
        DONE,
    )
    assert (uses(), request.decision.via) == ([("bob", "grant")], "grant")


@pytest.mark.shows("ai-sdk", "conversation")
def test_an_ai_sdk_client_is_asked_again_in_another_conversation():
    caller, decider = machine(alice()), bob()
    Client(caller).say("approve refund")
    grant_the_waiting(decider)
    assert "tool-approval-request" in Client(caller, "c2").say("approve refund").types
    assert uses() == []


def test_an_ai_sdk_client_answers_every_call_of_a_step_of_which_one_waits(settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    client, decider = Client(machine(bob())), make_person("deborah", "decide_approvalrequest", "view_approvalrequest")
    client.say("book it")
    grant_the_waiting(decider)
    answer = client.say("both")
    asked = [chunk for chunk in answer.chunks if chunk["type"] == "tool-approval-request"]
    for part, chunk in zip(client.calls(), asked, strict=True):
        part |= {"state": "approval-responded", "approval": {"id": chunk["approvalId"], "approved": True}}
    outputs = [chunk["output"] for chunk in client.post(messageId=client.last["id"]).chunks if "output" in chunk]
    # The calls run at the same time, and either may end first.
    assert (sorted(outputs), uses()) == (["booked 5", "booked 6"], [("deborah", "grant")])


@pytest.mark.shows("cedar", "unasked", "conversation")
def test_a_cedar_front_end_gets_the_result_in_one_answer_and_nothing_to_decide():
    page, decider = front_end(alice()), bob()
    page.say("approve refund")
    grant_the_waiting(decider)
    answer = page.say("approve refund")
    assert (shown(answer), runs(answer), page.open_runs(), uses()) == (
        [f"I will refund the order once someone approves it.\n\n{DONE}"],
        [],
        [],
        [("bob", "grant")],
    )
    assert len(runs(FrontEnd(page.machine, "thread-2").say("approve refund"))) == 1
