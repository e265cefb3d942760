"""Events for apps: written with what they tell, handed to each target at least once, in order per workflow.

A target is a function listed in HITL_EVENT_HANDLERS. It gets an `Event`, whose `id` stays the same when it is sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from approvals.audit import utc
from approvals.models import ApprovalRequest, OutboxEvent, Workflow

logger = logging.getLogger(__name__)

#: Every event name that may be sent.
EVENTS = (
    "request.created",
    "request.decided",
    "request.cancelled",
    "request.expired",
    "turn.suspended",
    "turn.completed",
    "tool.result",
)

BATCH = 50
#: A round delivers the heads of all streams; so many rounds before the sweep goes round to its other errands.
ROUNDS = 100
#: How long one delivery may take before another process may try it too.
CLAIM = timedelta(minutes=5)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=1), timedelta(hours=1)
GIVE_UP_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a handler gets. `stream` names the workflow; events of one stream come in order, `data` is plain JSON."""

    id: UUID
    name: str
    stream: str
    occurred_at: datetime
    data: Mapping[str, Any]


Handler = Callable[[Event], None]


def enqueue(name: str, *, stream: str, data: Mapping[str, Any]) -> None:
    """Send an event to every target; call it inside the transaction of what it tells."""
    assert name in EVENTS, name
    event_id, now = uuid4(), timezone.now()
    OutboxEvent.objects.bulk_create(
        OutboxEvent(event_id=event_id, name=name, stream=stream, target=target, payload=dict(data), created_at=now)
        for target in settings.HITL_EVENT_HANDLERS
    )


def stream_of(scope: str, run_id: str) -> str:
    """The stream of a workflow, and of the turn that it belongs to."""
    return f"{scope}:{run_id}"


def request_data(request: ApprovalRequest, workflow: Workflow) -> dict[str, Any]:
    """What the request events tell; no input and no answer, which are for those who may see the request."""
    return {
        "request_id": str(request.pk),
        "run_id": workflow.key,
        "kind": request.kind,
        "status": request.status,
        "title": request.title,
        "tool_name": request.tool_name,
        "tool_call_id": request.tool_call_id,
        "thread_id": workflow.thread_id,
        "agent": workflow.agent,
        "created_at": utc(request.created_at),
    }


def deliver_due() -> None:
    """Deliver what is due, the head of every stream first; a failing target holds up its own stream only."""
    for _ in range(ROUNDS):
        delivered = [_deliver(row) for row in _due() if _claimed(row)]
        if not any(delivered):
            return


@cache
def handler_at(path: str) -> Handler:
    """The function behind a dotted path. ImportError or TypeError with a clear line."""
    module, _, name = path.rpartition(".")
    found: Any = getattr(import_module(module), name, None) if module else None
    if not callable(found):
        raise TypeError(f"{path} is not a function")
    handler: Handler = found
    return handler


def _due() -> list[OutboxEvent]:
    waiting = OutboxEvent.objects.filter(delivered_at=None, dead_at=None)
    earlier = waiting.filter(target=OuterRef("target"), stream=OuterRef("stream"), pk__lt=OuterRef("pk"))
    heads = waiting.filter(~Exists(earlier), next_attempt_at__lte=timezone.now())
    return list(heads.order_by("next_attempt_at", "pk")[:BATCH])


def _claimed(row: OutboxEvent) -> bool:
    """Take the row for this process: whoever moves its next attempt has it."""
    mine = OutboxEvent.objects.filter(pk=row.pk, delivered_at=None, next_attempt_at=row.next_attempt_at)
    row.attempts += 1
    return bool(mine.update(attempts=F("attempts") + 1, next_attempt_at=timezone.now() + CLAIM))


def _deliver(row: OutboxEvent) -> bool:
    event = Event(id=row.event_id, name=row.name, stream=row.stream, occurred_at=row.created_at, data=row.payload)
    try:
        handler_at(row.target)(event)
    except Exception as error:
        logger.warning("%s was not taken by %s (try %d)", row.name, row.target, row.attempts, exc_info=True)
        _failed(row, f"{type(error).__name__}: {error}")
        return False
    OutboxEvent.objects.filter(pk=row.pk).update(delivered_at=timezone.now(), last_error="")
    return True


def _failed(row: OutboxEvent, error: str) -> None:
    now = timezone.now()
    wait = min(FIRST_WAIT * 2 ** min(row.attempts - 1, 20), LONGEST_WAIT)
    dead_at = now if now - row.created_at > GIVE_UP_AFTER else None
    OutboxEvent.objects.filter(pk=row.pk).update(next_attempt_at=now + wait, last_error=error[:2000], dead_at=dead_at)
