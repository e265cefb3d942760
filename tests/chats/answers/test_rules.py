"""A turn whose calls rules of the policy decide goes on by itself, and the model is told of denials."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.signals import decided
from approvals.states import Door, Verdict
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool
from chats.engine import sweep
from chats.models import Chat, ToolCall, TurnCheckpoint
from chats.queries.conversations import _result_text
from chats.queries.steps import steps_of
from tests.support import people
from tests.support.chats.turns import last_text, make_chat, only_request, reload, run, say, shape
from tests.support.desk.ruling import apply_policy

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = {"name": "Large", "match": {"tools": ["book"], "input": [{"pointer": "/amount", "at_least": 100}]}}
RULES = [
    LARGE | {"then": "deny", "message": "Ask finance."},
    {"name": "Small", "when": "input.amount < 10", "then": "allow"},
]


@tool(needs_approval=True)
def book(amount: int) -> str:
    """Book an amount."""
    return f"booked {amount}"


def calls(*amounts: int) -> list[Use]:
    return [Use("book", {"amount": amount}) for amount in amounts]


clerk = Agent(
    name="clerk",
    tools=(book,),
    script=(
        Conversation("^small", [calls(5), calls(6), [Say("Done: {answers}", pause=0)]]),
        Conversation("^large", [calls(500), [Say("I could not.", pause=0)]]),
        Conversation("^why", [calls(500), [Say("I heard: {answers}", pause=0)]]),
        Conversation("^all", [calls(5, 50, 500), [Say("Done: {answers}", pause=0)]]),
    ),
)


@pytest.fixture
def chat(settings) -> Chat:
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    apply_policy(*RULES)
    return make_chat(people.alice())


def states(turn) -> list[str]:
    return list(ToolCall.objects.filter(turn=turn).order_by("pk").values_list("state", flat=True))


def test_what_a_rule_allows_runs_without_a_pause(chat):
    turn = run(say(chat, "small"))
    assert (last_text(turn), reload(turn).attempt, states(turn)) == ("Done: booked 6", 1, ["succeeded"] * 2)
    assert list(TurnCheckpoint.objects.filter(turn_pk=turn.pk).values_list("kind", flat=True)) == ["final"]
    assert set(Decision.objects.values_list("via", "by_id", "verdict")) == {("rule", None, "approve")}


def test_what_a_rule_denies_does_not_run_and_the_model_is_told(chat):
    turn = run(say(chat, "large"))
    assert (last_text(turn), states(turn)) == ("I could not.", ["denied"])
    assert shape(turn) == ["step-start", "output-denied", "step-start", "text"]
    [call] = [call for step in steps_of(turn.pk) for call in step.calls]
    assert _result_text(call) == (
        "The policy denies this call. It was not run; do not try it again. Ask finance.",
        False,
    )
    assert AuditEntry.objects.filter(event__in=["tool.denied", "tool.result"]).count() == 1
    assert AuditEntry.objects.filter(event="request.decided").values_list("actor_id", "via").get() == (None, "rule")


def test_the_model_is_told_at_once_that_the_policy_and_no_person_denied_a_call(chat):
    turn = run(say(chat, "why"))
    denial = "The policy denies this call. It was not run; do not try it again. Ask finance."
    assert (last_text(turn), reload(turn).attempt) == (f"I heard: {denial}", 1)


def test_a_step_waits_only_for_the_call_that_people_decide(chat):
    turn = run(say(chat, "all"))
    assert (turn.state, states(turn)) == ("suspended", ["ready", "waiting", "denied"])
    waiting = only_request(turn)
    assert (waiting.input, waiting.rule) == ({"amount": 50}, None)
    desk.decide(waiting.pk, Answer(Verdict.APPROVE), by=people.bob(), via=Door.DASHBOARD)
    turn = run(turn)
    assert states(turn) == ["succeeded", "succeeded", "denied"]
    assert ApprovalRequest.objects.values_list("workflow", flat=True).distinct().count() == 1


STOP = {"name": "Stop", "then": "ask", "ask": {"deadline": {"after": 600, "then": "halt"}}}


@pytest.mark.parametrize("lost", [False, True])
def test_a_turn_is_stopped_when_no_one_decides_in_time(chat, lost, monkeypatch):
    apply_policy(STOP)
    turn = run(say(chat, "small"))
    request = only_request(turn)
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=timezone.now() - timedelta(seconds=1))
    if lost:
        # As after a crash behind the commit: only the sweep is left.
        monkeypatch.setattr(decided, "send_robust", lambda *_, **__: [])
    desk.expire(request.pk)
    if lost:
        assert reload(turn).state == "suspended"
        sweep.resume_answered_turns()
    turn = reload(turn)
    assert (turn.state, turn.stopped, states(turn)) == ("stopped", True, ["cancelled"])
    assert ApprovalRequest.objects.get().workflow.state == "cancelled"
    assert AuditEntry.objects.filter(event="turn.stopped").values_list("via", flat=True).get() == "deadline"
