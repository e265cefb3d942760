"""Find turns that are stuck: queued without a runner, left by a dead runner, or suspended with no pending request."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from approvals.background.sweep import Walk
from approvals.db import pool
from approvals.models import Workflow
from approvals.states import FINAL, WorkflowState
from chats import actions, doorbell
from chats.models import ToolCall, Turn
from chats.states import TURN_SOURCES, CallState, TurnState

logger = logging.getLogger(__name__)

BATCH = 100
#: Workflows read in one sweep; most of them are simply running.
WORKFLOWS = 500

_running = Walk()
_calls_below = Walk()
_turns_below = Walk()
_stuck_below = Walk()
_stuck_above = Walk()


def wake_stuck_turns() -> None:
    """Notify runners of turns without one; sub-agents' turns come first, because others wait for them."""
    stuck = stuck_turns(Now()).only("root")
    # In batches that continue where the last one ended, so that turns that no runner can take hold up no others.
    below = _stuck_below.next(stuck.filter(root__isnull=False), BATCH)
    for turn in [*below, *_stuck_above.next(stuck.filter(root=None), BATCH)]:
        doorbell.notify_queued(turn.pk, below=turn.root_id is not None)


def stuck_turns(now: Any) -> QuerySet[Turn]:
    """Return turns that are queued, or whose runner's lease expired before `now`."""
    return Turn.objects.filter(
        Q(state=TurnState.QUEUED) | Q(state=TurnState.RUNNING, lease_until__lt=now)
    )


def resume_answered_turns() -> None:
    """Resume turns whose requests have all ended but whose signal was lost.

    Starts from the running workflows, which are few, not from the suspended turns, which are many.
    """
    keys = [
        workflow.key
        for workflow in _running.next(answered_workflows().only("key"), WORKFLOWS)
    ]
    turns = Turn.objects.filter(state=TurnState.SUSPENDED, run_id__in=keys).order_by(
        "pk"
    )
    _resume(list(turns.values_list("pk", flat=True)))


def answered_workflows() -> QuerySet[Workflow]:
    """Return workflows of turns without pending requests."""
    return Workflow.objects.filter(source__in=TURN_SOURCES, state=WorkflowState.RUNNING)


def resume_nested_turns() -> None:
    """Resume turns with sub-agents: one sub-agent was answered while others wait, or its turn has moved without a signal."""
    calls, moved = answered_nested()
    turn_ids = {call.turn_id for call in _calls_below.next(calls.only("turn"))}
    turn_ids |= {
        turn.parent_call.turn_id
        for turn in _turns_below.next(moved.select_related("parent_call"))
    }
    _resume(sorted(turn_ids))


def _resume(turn_ids: Iterable[int]) -> None:
    for turn_id in turn_ids:
        try:
            if not actions.halt_turn(turn_id):
                actions.resume_turn(turn_id, waits=False)
        except pool.AWAY:
            raise
        except Exception:
            # One turn that cannot be resumed must not block the others.
            logger.exception(
                "Turn %s cannot be resumed; it will be tried again", turn_id
            )


def answered_nested() -> tuple[QuerySet[ToolCall], QuerySet[Turn]]:
    """Return answered calls in suspended sub-agents' turns, and sub-agents' turns that have moved while the parent waits."""
    calls = ToolCall.objects.filter(
        Q(approval__status__in=FINAL, state=CallState.WAITING)
        | Q(recovery__status__in=FINAL, state=CallState.UNKNOWN),
        turn__root__isnull=False,
        turn__state=TurnState.SUSPENDED,
    )
    moved = Turn.objects.filter(
        parent_call__state=CallState.DELEGATED,
        parent_call__turn__state=TurnState.SUSPENDED,
    )
    return calls, moved.exclude(state=TurnState.SUSPENDED)


def prune_old_events() -> None:
    """Remove one batch of old stream events; the next sweep removes the next batch."""
    actions.prune_events(Now() - _retention())


def turns_with_old_events(now: Any) -> QuerySet[Turn]:
    return actions.turns_to_prune(now - _retention())


def _retention() -> timedelta:
    return timedelta(hours=settings.HITL_KEEP_EVENTS)
