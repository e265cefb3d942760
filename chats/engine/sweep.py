"""Turns that stand still though they need not: queued and taken by nobody, left by a dead runner, suspended with nothing open."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from approvals.background.sweep import Walk
from approvals.models import Workflow
from approvals.runtime import database
from approvals.states import FINAL, WorkflowState
from chats import actions, doorbell
from chats.models import ToolCall, Turn
from chats.states import TURN_SOURCES, CallState, TurnState

logger = logging.getLogger(__name__)

BATCH = 100
#: Workflows of one look, most of which only run.
MANY = 500

_running, _calls_below, _turns_below = Walk(), Walk(), Walk()


def wake_stuck_turns() -> None:
    """Ring for turns that wait for a runner; claiming decides who gets them. Sub-agents' come first: others wait for them."""
    found = stuck(Now()).order_by(F("root").asc(nulls_last=True), "id")
    for turn_id, root in list(found.values_list("pk", "root")[:BATCH]):
        doorbell.ring_work(turn_id, below=root is not None)


def stuck(now: Any) -> QuerySet[Turn]:
    return Turn.objects.filter(Q(state=TurnState.QUEUED) | Q(state=TurnState.RUNNING, lease_until__lt=now))


def resume_answered_turns() -> None:
    """Resume turns whose requests have all ended while the signal got lost.

    Found from the side of the workflows, of which few are running, and not from the many suspended turns.
    """
    keys = [workflow.key for workflow in _running.next(answered().only("key"), MANY)]
    turns = Turn.objects.filter(state=TurnState.SUSPENDED, run_id__in=keys).order_by("pk")
    _resume(list(turns.values_list("pk", flat=True)))


def answered() -> QuerySet[Workflow]:
    return Workflow.objects.filter(source__in=TURN_SOURCES, state=WorkflowState.RUNNING)


def resume_nested_turns() -> None:
    """The same between agents and their sub-agents: one was answered while others wait, or one has moved unheard."""
    calls, moved = answered_below()
    found = {call.turn_id for call in _calls_below.next(calls.only("turn"))}
    found |= {turn.parent_call.turn_id for turn in _turns_below.next(moved.select_related("parent_call"))}
    _resume(sorted(found))


def _resume(turn_ids: Iterable[int]) -> None:
    for turn_id in turn_ids:
        try:
            actions.resume_turn(turn_id, waits=False)
        except database.AWAY:
            raise
        except Exception:
            # One that cannot be resumed must not keep the others waiting.
            logger.exception("Turn %s cannot be resumed; it will be tried again", turn_id)


def answered_below() -> tuple[QuerySet[ToolCall], QuerySet[Turn]]:
    """Calls of sub-agents that were answered, and turns of sub-agents that have moved, whose turns still wait."""
    calls = ToolCall.objects.filter(
        Q(approval__status__in=FINAL, state=CallState.WAITING) | Q(recovery__status__in=FINAL, state=CallState.UNKNOWN),
        turn__root__isnull=False,
        turn__state=TurnState.SUSPENDED,
    )
    moved = Turn.objects.filter(parent_call__state=CallState.DELEGATED, parent_call__turn__state=TurnState.SUSPENDED)
    return calls, moved.exclude(state=TurnState.SUSPENDED)


def prune_old_events() -> None:
    """Remove a batch of the streams that nobody follows any more; the next round removes the next one."""
    actions.prune_events(Now() - _kept())


def streams_over(now: Any) -> QuerySet[Turn]:
    return actions.turns_to_prune(now - _kept())


def _kept() -> timedelta:
    return timedelta(hours=settings.HITL_KEEP_EVENTS)
