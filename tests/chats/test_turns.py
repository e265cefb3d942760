"""Turns from the message to the end, with the real runner."""

from __future__ import annotations

import pytest

from approvals import actions as desk
from approvals.models import AuditEntry, Decision, Workflow
from approvals.states import Door, Verdict
from chats.models import Message, TurnCheckpoint
from chats.states import TurnState
from tests import people
from tests.chats.helpers import converse, only_request, run

pytestmark = pytest.mark.django_db(transaction=True)


def shape(turn):
    parts = Message.objects.get(chat=turn.chat, message_id=turn.message_id).parts
    return [part.get("state") if part["type"].startswith("tool-") else part["type"] for part in parts]


def test_a_greeting_is_answered_in_one_step():
    turn = converse(people.alice(), "hello")
    assert (turn.state, turn.finish_reason) == (TurnState.COMPLETED, "stop")
    assert shape(turn) == ["step-start", "text"]
    assert list(TurnCheckpoint.objects.values_list("kind", "ordinal", "finish_reason")) == [("final", 0, "stop")]


def test_a_server_tool_runs_between_two_steps():
    turn = converse(people.alice(), "weather")
    assert shape(turn) == ["step-start", "text", "output-available", "step-start", "text"]
    assert AuditEntry.objects.filter(event="tool.result", tool_name="getWeather").count() == 1


def test_a_refund_waits_for_bob_and_then_runs_once():
    turn = converse(people.alice(), "approve refund")
    assert (turn.state, turn.finish_reason) == (TurnState.SUSPENDED, "tool-calls")
    assert shape(turn) == ["step-start", "text", "approval-requested"]
    request = only_request(turn)
    desk.decide(request.pk, by=people.bob(), via=Door.DASHBOARD, verdict=Verdict.APPROVE)
    turn = run(turn)
    assert turn.state == TurnState.COMPLETED
    assert shape(turn) == ["step-start", "text", "output-available", "step-start", "text"]
    call = turn.tool_calls.get()
    assert call.output["executions"] == 1
    assert Decision.objects.get().approved_digest == call.executed_digest
    assert list(TurnCheckpoint.objects.order_by("ordinal").values_list("kind", flat=True)) == ["partial", "final"]
    assert Workflow.objects.get().state == "completed"
