"""Durable engines, and what became of the decisions that were sent to them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import QuerySet

from approvals.models import ApprovalRequest, EngineConnection, OutboxEvent
from approvals.states import Channel
from approvals.text.secrets import mask_text


class CallbackState(StrEnum):
    """The state of a decision on its way to an engine."""

    WAITING = "waiting"
    TAKEN = "taken"
    NOT_TAKEN = "not_taken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCallback:
    """The delivery of a decision to an engine; `at` is the time of the next attempt, or of the end."""

    state: CallbackState
    note: str
    attempts: int
    at: datetime


def engine_named(name: str) -> EngineConnection | None:
    return EngineConnection.objects.filter(name=name).first()


def deliveries_of(request: ApprovalRequest) -> QuerySet[OutboxEvent]:
    """Return the event that takes the decision on a request to its engine; none before the decision, or after its retention."""
    return OutboxEvent.objects.filter(
        channel=Channel.ENGINE, target=f"engine:{request.pk}"
    )


def unsettled_deliveries() -> QuerySet[OutboxEvent]:
    """Return the deliveries that an engine did not take, and with `uncertain` those that it may have got."""
    return OutboxEvent.objects.filter(
        channel=Channel.ENGINE, delivered_at=None, dead_at__isnull=False
    )


def callback_of(request: ApprovalRequest) -> ShownCallback | None:
    """Return the delivery of a decision to its engine; None if there is none."""
    if not request.callback or request.pending:
        return None
    row = deliveries_of(request).first()
    if row is None:
        return None
    return ShownCallback(
        state=state_of(row),
        note=mask_text(row.last_error),
        attempts=row.attempts,
        at=row.delivered_at or row.dead_at or row.next_attempt_at,
    )


def state_of(row: OutboxEvent) -> CallbackState:
    if row.delivered_at is not None:
        return CallbackState.TAKEN
    if row.dead_at is None:
        return CallbackState.WAITING
    return CallbackState.UNKNOWN if row.uncertain else CallbackState.NOT_TAKEN
