"""Invariants that hold after any sequence of decisions, answers, cancellations, expiries, stops, resumes and restarts."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db import append_only
from approvals.exceptions import Refusal
from approvals.models import ApprovalRequest, AuditEntry, Decision, Workflow
from approvals.states import Door, Verdict
from chats import actions, doorbell, queries
from chats.actions.claiming import Begun
from chats.engine import runner
from chats.models import Chat, Message, Turn, TurnCheckpoint
from chats.queries import projection
from chats.states import CLOSED, UNFINISHED, CallState, TurnState
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import (
    checkpoints_of,
    expected_digests,
    folded,
    kinds,
    make_chat,
    model_history,
    overdue,
    reload,
    results_on_record,
    run,
    say,
    tool_parts,
)

TEXTS = ["ask both", "mixed", "pay twice", "pay", "ask", "human with default", "human without default"]
ANSWERS = {Verdict.RESPOND: {"answer": "an answer"}}
places = st.integers(min_value=0, max_value=5)


def answered(part: dict[str, Any], *, approved: bool) -> dict[str, Any]:
    """Return a tool part as a client sends it back."""
    match part["state"]:
        case "approval-requested":
            return part | {"state": "approval-responded", "approval": part["approval"] | {"approved": approved}}
        case "input-available":
            return part | {"state": "output-available", "output": "an answer"}
    return part


class Desk(RuleBasedStateMachine):
    """One chat of Alice's or Bob's; Bob decides; Mallory has no rights."""

    @initialize(text=st.sampled_from(TEXTS), owner=st.sampled_from("ab"))
    def begin(self, text, owner):
        agents.ran.clear()
        self.alice, self.bob, self.mallory = people.alice(), people.bob(), people.mallory()
        self.chat = make_chat({"a": self.alice, "b": self.bob}[owner])
        self.turn = say(self.chat, text)

    def request(self, place: int) -> ApprovalRequest | None:
        found = list(ApprovalRequest.objects.filter(scope=self.chat.scope).order_by("created_at", "id"))
        return found[place % len(found)] if found else None

    @rule()
    def run(self):
        run(self.turn)

    @rule(
        place=places,
        verdict=st.sampled_from([Verdict.APPROVE, Verdict.REJECT, Verdict.RESPOND]),
        who=st.sampled_from("abm"),
    )
    def decide(self, place, verdict, who):
        request = self.request(place)
        person = {"a": self.alice, "b": self.bob, "m": self.mallory}[who]
        if request is None:
            return
        with contextlib.suppress(Refusal):
            desk.decide(request.pk, Answer(verdict, **ANSWERS.get(verdict, {})), by=person, via=Door.DASHBOARD)
            assert who != "m"

    @rule(place=places, approved=st.booleans(), drains=st.booleans())
    def answer(self, place, approved, drains):
        """Answer the last calls as an AI SDK client, where turns run; that process goes on, or shuts down."""
        run(self.turn)
        begun: list[Begun] = []
        doorbell.set_handlers(on_queued=None, on_stop=None, on_claimed=begun.append, owner="here")
        # A turn that was stopped before it began has no message.
        with contextlib.suppress(Refusal, Message.DoesNotExist):
            sent = [answered(part, approved=approved) for part in tool_parts(self.turn)[-1 - place % 3 :]]
            actions.take_answers(self.chat.public_id, self.turn.message_id, sent, by=self.chat.owner, via=Door.AI_SDK)
        doorbell.set_handlers(on_queued=None, on_stop=None)
        for run_here in begun:
            if drains:
                assert actions.release_turn(run_here[0])
                assert not self.turn.tool_calls.filter(state=CallState.EXECUTING).exists()
            else:
                asyncio.run(runner.go_on(run_here, asyncio.Event()))

    @rule(place=places)
    def edit(self, place):
        request = self.request(place)
        if request is not None and request.tool_name == "pay":
            with contextlib.suppress(Refusal):
                edit = Answer(Verdict.EDIT, edited_input={"amount": 3, "to": "Z"})
                desk.decide(request.pk, edit, by=self.bob, via=Door.DASHBOARD)

    @rule(place=places)
    def withdraw(self, place):
        request = self.request(place)
        if request is not None:
            with contextlib.suppress(Refusal):
                desk.cancel(request.pk, by=self.chat.owner, via=Door.CHAT)

    @rule(place=places)
    def expire(self, place):
        request = self.request(place)
        if request is not None and request.pending:
            overdue(request)
            assert desk.expire(request.pk) is True
            assert desk.expire(request.pk) is False

    @rule()
    def stop(self):
        with contextlib.suppress(Refusal):
            actions.stop_turn(self.chat, by=self.chat.owner, via=Door.CHAT)

    @rule()
    def resume(self):
        actions.resume_turn(self.turn.pk)

    @rule()
    def crash(self):
        """Have a runner claim the turn and die."""
        if claim_turn(self.turn.pk, owner="doomed") is not None:
            Turn.objects.filter(pk=self.turn.pk).update(lease_until=timezone.now() - timedelta(seconds=1))

    @rule(text=st.sampled_from(TEXTS))
    def write(self, text):
        with contextlib.suppress(Refusal):
            turn = say(self.chat, text)
            if turn.pk != self.turn.pk:
                assert reload(self.turn).state not in UNFINISHED
                self.turn = turn

    @invariant()
    def the_promises(self):
        if not hasattr(self, "chat"):
            return
        for request in ApprovalRequest.objects.filter(scope=self.chat.scope):
            assert Decision.objects.filter(request=request).count() == (not request.pending)
        assert Turn.objects.filter(chat=self.chat, state__in=UNFINISHED).count() <= 1
        for turn in Turn.objects.filter(chat=self.chat).select_related("chat__owner"):
            self.turn_is_right(turn)
        self.history_is_valid()

    def turn_is_right(self, turn: Turn) -> None:
        assert (turn.finish_reason == "tool-calls") == (turn.state == TurnState.SUSPENDED)
        for call in turn.tool_calls.all():
            assert results_on_record(turn)[call.tool_call_id] == (call.state in CLOSED)
            assert call.attempt <= 1
        pauses = kinds(turn)
        ended = turn.state not in UNFINISHED
        assert pauses == ["partial"] * (len(pauses) - ended) + ["final"] * ended
        checkpoints = list(checkpoints_of(turn))
        assert [row.digest for row in checkpoints] == expected_digests(checkpoints, folded(turn))
        message = Message.objects.filter(chat=self.chat, message_id=turn.message_id).first()
        if message is not None:
            # Nothing is stored before the end; then the content of the last checkpoint is.
            assert message.parts == (folded(turn)[-1] if ended else [])
            made = projection.message_parts(queries.step_views([turn.pk])[turn.pk])
            assert queries.with_parts(message).parts[: len(made)] == made
        workflow = Workflow.objects.filter(scope=self.chat.scope, key=str(turn.run_id)).first()
        if workflow is not None:
            assert workflow.ended == ended
            assert workflow.open_count == workflow.requests.filter(status="pending").count()

    def history_is_valid(self) -> None:
        if not self.chat.turns.exclude(state__in=[TurnState.SUSPENDED]).filter(pk=self.turn.pk).exists():
            return
        history = model_history(reload(self.turn))
        for message, after in zip(history, [*history[1:], None], strict=True):
            used = [block["id"] for block in message.content if block["type"] == "tool_use"]
            given = [b["tool_use_id"] for b in after.content if b["type"] == "tool_result"] if after is not None else []
            assert used == given
            assert message.content != []

    def teardown(self):
        with append_only.maintenance(connection, "next example"), transaction.atomic():
            for model in (AuditEntry, Decision):
                model.objects.all().delete()
            checkpoints_of_all().delete()
            Chat.objects.all().delete()
            ApprovalRequest.objects.all().delete()
            Workflow.objects.all().delete()
            people.User.objects.all().delete()


def checkpoints_of_all():
    return TurnCheckpoint.objects.all()


SHORT = settings(max_examples=3, stateful_step_count=8, suppress_health_check=list(HealthCheck))


@pytest.mark.django_db(transaction=True)
def test_the_invariants_hold_after_any_sequence_of_actions(settings):
    settings.HITL_AGENTS = [agents.PATH]
    run_state_machine_as_test(Desk, settings=SHORT)
