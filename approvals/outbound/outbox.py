"""Events on their way out: written with what they tell, taken to each target at least once, in order per workflow.

A target is a function listed in HITL_EVENT_HANDLERS, a webhook (`approvals.outbound.webhooks`), or the people whom rules name
(`approvals.outbound.notifications`). A function gets an `Event`, whose `id` stays the same when it is sent again. The
database's clock says when an event is due, because all processes share it.
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
from django.contrib.auth.models import User
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Now
from django.utils import timezone

from approvals.models import ApprovalRequest, OutboxEvent, Workflow
from approvals.models.subscriptions import EventStream, NotificationRule, WebhookEndpoint
from approvals.runtime.addresses import Refused, destination
from approvals.runtime.canonical import utc
from approvals.states import Channel

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

#: A request has ended: what its `callback_url` is told.
FINAL_EVENTS = frozenset({"request.decided", "request.cancelled", "request.expired"})

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


def enqueue(name: str, *, stream: str, data: Mapping[str, Any], callback_url: str = "") -> None:
    """Send an event to every target; call it inside the transaction of what it tells."""
    assert name in EVENTS, name
    rows = [
        *(OutboxEvent(channel=Channel.HANDLER, target=path) for path in settings.HITL_EVENT_HANDLERS),
        *_to_webhooks(name, callback_url),
        *_to_people(name),
    ]
    if not rows:
        return
    event_id, now, number = uuid4(), timezone.now(), _next_number(stream)
    for row in rows:
        row.event_id, row.name, row.stream, row.sequence, row.payload = event_id, name, stream, number, dict(data)
        row.created_at, row.next_attempt_at = now, Now()
    OutboxEvent.objects.bulk_create(rows)


def _to_webhooks(name: str, callback_url: str) -> list[OutboxEvent]:
    endpoints = [found for found in WebhookEndpoint.objects.filter(active=True).order_by("pk") if name in found.events]
    targets = [(f"endpoint:{endpoint.pk}", endpoint.url) for endpoint in endpoints]
    if callback_url and name in FINAL_EVENTS:
        targets.append((f"callback:{callback_url}", callback_url))
    return [OutboxEvent(channel=Channel.WEBHOOK, target=target, lane=lane_of(url)) for target, url in targets]


def lane_of(url: str) -> str:
    """Host and port of an address: what is slow or dead is a host."""
    try:
        return destination(url, allow_private=True).authority
    except Refused:
        # Said when it is sent: here a bad address must not stop a decision.
        return "nowhere"


def _to_people(name: str) -> list[OutboxEvent]:
    told = name == "request.created" and NotificationRule.objects.filter(active=True).exists()
    return [OutboxEvent(channel=Channel.NOTICE, target="notices")] if told else []


def tell_person(name: str, request: ApprovalRequest, person: User) -> None:
    """Tell one person of a request by mail, whatever the rules say; call it inside the transaction of what it tells."""
    if not settings.HITL_MAIL or not person.email:
        return
    stream = stream_of(request.scope, request.workflow.key)
    OutboxEvent.objects.create(
        event_id=uuid4(),
        name=name,
        stream=stream,
        sequence=_next_number(stream),
        channel=Channel.MAIL,
        target=f"mail:{person.pk}",
        lane="mail",
        payload=request_data(request, request.workflow),
        next_attempt_at=Now(),
    )


def _next_number(stream: str) -> int:
    """The number of the next event of a stream. Its row stays locked until the commit: a later event gets a later id."""
    EventStream.objects.get_or_create(name=stream)
    EventStream.objects.filter(name=stream).update(last=F("last") + 1)
    return EventStream.objects.values_list("last", flat=True).get(name=stream)


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
    """Call the functions of apps: the head of every stream first; a failing one holds up its own stream only."""
    for _ in range(ROUNDS):
        called = [_call(row) for row in heads(Channel.HANDLER)[:BATCH] if claimed(row)]
        if not any(called):
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


def waiting(*channels: Channel) -> QuerySet[OutboxEvent]:
    """What is neither delivered nor given up."""
    return OutboxEvent.objects.filter(delivered_at=None, dead_at=None, channel__in=channels)


def due(now: Any, *channels: Channel) -> QuerySet[OutboxEvent]:
    """What of it is to be tried at a moment."""
    return waiting(*channels).filter(next_attempt_at__lte=now)


def heads(channel: Channel) -> QuerySet[OutboxEvent]:
    """What is due and first of its stream and target, the longest due first."""
    undone = OutboxEvent.objects.filter(delivered_at=None, dead_at=None)
    earlier = undone.filter(target=OuterRef("target"), stream=OuterRef("stream"), pk__lt=OuterRef("pk"))
    return due(Now(), channel).filter(~Exists(earlier)).order_by("next_attempt_at", "pk")


def claimed(row: OutboxEvent, lease: timedelta | None = None) -> bool:
    """Take the row for this process: whoever counts its next attempt has it, until `lease` (CLAIM) is over."""
    mine = OutboxEvent.objects.filter(pk=row.pk, delivered_at=None, attempts=row.attempts, next_attempt_at__lte=Now())
    row.attempts += 1
    return bool(mine.update(attempts=F("attempts") + 1, next_attempt_at=Now() + (lease or CLAIM)))


def _call(row: OutboxEvent) -> bool:
    event = Event(id=row.event_id, name=row.name, stream=row.stream, occurred_at=row.created_at, data=row.payload)
    try:
        handler_at(row.target)(event)
    except Exception as error:
        logger.warning("%s was not taken by %s (try %d)", row.name, row.target, row.attempts, exc_info=True)
        failed(row, f"{type(error).__name__}: {error}")
        return False
    delivered(row)
    return True


def delivered(*rows: OutboxEvent, note: str = "") -> None:
    """These have arrived; `note` says why, where nothing was sent."""
    OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).update(delivered_at=Now(), last_error=note)


def failed(row: OutboxEvent, error: str) -> None:
    """Try it again after a wait that doubles each time, or give it up after GIVE_UP_AFTER."""
    wait = min(FIRST_WAIT * 2 ** min(row.attempts - 1, 20), LONGEST_WAIT)
    begun_before = Now() - GIVE_UP_AFTER
    too_old = Q(sent_again_at=None, created_at__lt=begun_before) | Q(sent_again_at__lt=begun_before)
    OutboxEvent.objects.filter(pk=row.pk, delivered_at=None).update(
        next_attempt_at=Now() + wait, last_error=error[:2000], dead_at=Case(When(too_old, then=Now()))
    )


def give_up(row: OutboxEvent, error: str) -> None:
    """It can never arrive, however often it is tried."""
    OutboxEvent.objects.filter(pk=row.pk, delivered_at=None).update(dead_at=Now(), last_error=error[:2000])
