"""Transactional outbox: events are written with what they report, and delivered to each target at least once, in order.

A target is a function listed in HITL_EVENT_HANDLERS, a webhook (`approvals.outbound.webhooks`), or the people whom rules
name (`approvals.outbound.notifications`). A function gets an `Event`, whose `id` stays the same when it is sent again. An
event is due by the clock of the database, which all processes share.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Now
from django.utils import timezone

from approvals.addresses import RefusedAddress, parse_destination
from approvals.db.canonical_json import utc
from approvals.models import ApprovalRequest, OutboxEvent, Workflow
from approvals.models.attachments import public_documents
from approvals.models.subscriptions import subscribers
from approvals.outbound.quiet_hours import may_leave_at, preferences_of_people
from approvals.states import Channel, Priority
from approvals.text.secrets import mask_text

logger = logging.getLogger(__name__)

#: Every event name that may be sent.
EVENTS = (
    "request.created",
    "request.voted",
    "request.decided",
    "request.cancelled",
    "request.expired",
    "request.reminded",
    "request.escalated",
    "request.advised",
    "request.undecidable",
    "turn.suspended",
    "turn.completed",
    "tool.result",
    "grant.given",
    "grant.used",
    "grant.revoked",
    "grant.ended",
    "grant.stopped",
    "grant.resumed",
)

#: How preferences name the mails about requests that were assigned to a person.
ASSIGNED = f"{Channel.MAIL}:assigned"

#: Events about the end of a request, which its `callback_url` gets.
FINAL_EVENTS = frozenset({"request.decided", "request.cancelled", "request.expired"})

#: Events of which people are always notified, whom the terms of the request name.
FOLLOW_UPS = frozenset({"request.reminded", "request.escalated"})

#: The channels of which only the first event of each stream and target is tried.
ORDERED = (Channel.HANDLER, Channel.WEBHOOK)
BATCH = 50
#: Each round delivers the first event of every stream. After so many the sweep turns to its other duties.
ROUNDS = 100
#: How long a process has an event for itself; then another may try to deliver it.
CLAIM = timedelta(minutes=5)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=1), timedelta(hours=1)
GIVE_UP_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a handler gets. `stream` names the workflow, whose events come in order; `data` is plain JSON."""

    id: UUID
    name: str
    stream: str
    occurred_at: datetime
    data: Mapping[str, Any]


Handler = Callable[[Event], None]


def enqueue(
    name: str,
    *,
    stream: str,
    data: Mapping[str, Any],
    callback_url: str = "",
    heard: bool = True,
    notices: bool = False,
) -> None:
    """Write an event for every target; call this inside the transaction of what it reports.

    `heard` is false if the caller has read in this transaction that no one gets events (`models.subscriptions.heard`).
    With `notices`, people are notified of it.
    """
    assert name in EVENTS, name
    rows = [OutboxEvent(channel=Channel.HANDLER, target=path) for path in settings.HITL_EVENT_HANDLERS]
    targets = list(subscribers()) if heard else []
    rows += [_to_url(f"endpoint:{pk}", url) for pk, url, events in targets if pk is not None and name in events]
    if callback_url and name in FINAL_EVENTS:
        rows.append(_to_url(f"callback:{callback_url}", callback_url))
    if (notices and any(pk is None for pk, _url, _events in targets)) or name in FOLLOW_UPS:
        rows.append(OutboxEvent(channel=Channel.NOTICE, target="notices"))
    if not rows:
        return
    event_id, now, number = uuid4(), timezone.now(), next_number(stream)
    for row in rows:
        row.event_id, row.name, row.stream, row.sequence, row.payload = event_id, name, stream, number, dict(data)
        row.created_at, row.next_attempt_at = now, Now()
    OutboxEvent.objects.bulk_create(rows)


def _to_url(target: str, url: str) -> OutboxEvent:
    return OutboxEvent(channel=Channel.WEBHOOK, target=target, lane=lane_of(url))


def lane_of(url: str) -> str:
    """Return host and port of an address, which all its deliveries share."""
    try:
        return parse_destination(url, allow_private=True).authority
    except RefusedAddress:
        # Reported when it is sent: a bad address must not prevent a decision.
        return "nowhere"


def notify_person(name: str, request: ApprovalRequest, person: User) -> None:
    """Write a mail to one person about a request, whatever the rules say; call this inside the transaction of the event."""
    preferences = preferences_of_people({person.pk}).get(person.pk) if settings.HITL_MAIL and person.email else None
    if not settings.HITL_MAIL or not person.email or (preferences and ASSIGNED in preferences.muted):
        return
    now = timezone.now()
    at = may_leave_at(preferences, now)
    # By the clock of the database, unless the message waits for the end of quiet hours.
    when = Now() if at <= now or request.priority == Priority.CRITICAL else at
    stream = stream_of(request.scope, request.workflow.key)
    OutboxEvent.objects.create(
        event_id=uuid4(),
        name=name,
        stream=stream,
        sequence=next_number(stream),
        channel=Channel.MAIL,
        target=f"mail:{person.pk}",
        lane="mail",
        payload=request_data(request, request.workflow),
        next_attempt_at=when,
    )


_COUNT_UP = """
    INSERT INTO approvals_eventstream (name, last) VALUES (%s, 1)
    ON CONFLICT (name) DO UPDATE SET last = approvals_eventstream.last + 1 RETURNING last
"""


def next_number(stream: str) -> int:
    """Return the number of the next event of a stream, whose row stays locked until the commit to keep the ids in order."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_UP, [stream])
        return int(cursor.fetchone()[0])


def stream_of(scope: str, run_id: str) -> str:
    """Return the name of the stream of a workflow, and of its turn."""
    return f"{scope}:{run_id}"


def request_data(request: ApprovalRequest, workflow: Workflow) -> dict[str, Any]:
    """Return the data of request events, without input and answer, which only some people may see."""
    files = public_documents(request)
    return {
        "request_id": str(request.pk),
        "run_id": workflow.key,
        "kind": request.kind,
        "status": request.status,
        "title": mask_text(request.title),
        "tool_name": request.tool_name,
        "tool_call_id": request.tool_call_id,
        "thread_id": workflow.thread_id,
        "agent": workflow.agent,
        "created_at": utc(request.created_at),
        **({"attachments": files} if files else {}),
    }


def deliver_due() -> None:
    """Call the handlers of due events, in the order of each stream; one that fails holds up its own stream only."""
    for _ in range(ROUNDS):
        called = [_call(row) for row in head_events(Channel.HANDLER)[:BATCH] if claim_event(row)]
        if not any(called):
            return


@cache
def load_handler(path: str) -> Handler:
    """Return the function at a dotted path. ImportError, TypeError."""
    module, _, name = path.rpartition(".")
    loaded: Any = getattr(import_module(module), name, None) if module else None
    if not callable(loaded):
        raise TypeError(f"{path} is not a function")
    handler: Handler = loaded
    return handler


def undelivered_events(*channels: Channel) -> QuerySet[OutboxEvent]:
    """Return the events that are neither delivered nor given up."""
    return OutboxEvent.objects.filter(delivered_at=None, dead_at=None, channel__in=channels)


def due_events(now: Any, *channels: Channel) -> QuerySet[OutboxEvent]:
    """Return the undelivered events that are due."""
    return undelivered_events(*channels).filter(next_attempt_at__lte=now)


def head_events(channel: Channel) -> QuerySet[OutboxEvent]:
    """Return the due events that are the first of their stream and target, longest due first."""
    undone = OutboxEvent.objects.filter(delivered_at=None, dead_at=None)
    earlier = undone.filter(target=OuterRef("target"), stream=OuterRef("stream"), pk__lt=OuterRef("pk"))
    return due_events(Now(), channel).filter(~Exists(earlier)).order_by("next_attempt_at", "pk")


def claim_event(row: OutboxEvent, lease: timedelta | None = None) -> bool:
    """Claim an event for this process until `lease` (CLAIM) is over; whether no other process was faster."""
    mine = OutboxEvent.objects.filter(pk=row.pk, delivered_at=None, attempts=row.attempts, next_attempt_at__lte=Now())
    row.attempts += 1
    return bool(mine.update(attempts=F("attempts") + 1, next_attempt_at=Now() + (lease or CLAIM)))


def _call(row: OutboxEvent) -> bool:
    event = Event(id=row.event_id, name=row.name, stream=row.stream, occurred_at=row.created_at, data=row.payload)
    try:
        load_handler(row.target)(event)
    except Exception as error:
        logger.warning("%s failed in handler %s (attempt %d)", row.name, row.target, row.attempts, exc_info=True)
        record_failure(row, f"{type(error).__name__}: {error}")
        return False
    mark_delivered(row)
    return True


def mark_delivered(*rows: OutboxEvent, note: str = "") -> None:
    """Mark events as delivered; `note` says why, if nothing was sent."""
    # Only an event that has failed has put others off. One that was sent again counts its attempts anew.
    failed = [row for row in rows if row.channel in ORDERED and (row.attempts > 1 or row.sent_again_at is not None)]
    with transaction.atomic(savepoint=False) if failed else nullcontext():
        OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).update(delivered_at=Now(), last_error=note)
        for row in failed:
            _make_later_due(row)


def record_failure(row: OutboxEvent, error: str) -> None:
    """Schedule the next attempt, after a delay that doubles each time, or give the event up after GIVE_UP_AFTER."""
    wait = min(FIRST_WAIT * 2 ** min(row.attempts - 1, 20), LONGEST_WAIT)
    begun_before = Now() - GIVE_UP_AFTER
    too_old = Q(sent_again_at=None, created_at__lt=begun_before) | Q(sent_again_at__lt=begun_before)
    failed = OutboxEvent.objects.filter(pk=row.pk, delivered_at=None)
    # In one transaction, whose lock on the event keeps another process from closing it in between.
    with transaction.atomic(savepoint=False):
        failed.update(next_attempt_at=Now() + wait, last_error=error[:2000], dead_at=Case(When(too_old, then=Now())))
        if row.channel in ORDERED:
            # Each search for due events would look at them, although they have to wait for this one.
            retried = failed.filter(dead_at=None)
            _later(row).filter(Exists(retried)).update(next_attempt_at=Subquery(retried.values("next_attempt_at")))
            _make_later_due(row)


def give_up(row: OutboxEvent, error: str) -> None:
    """Give an event up at once, because no further attempt can succeed."""
    with transaction.atomic(savepoint=False):
        OutboxEvent.objects.filter(pk=row.pk, delivered_at=None).update(dead_at=Now(), last_error=error[:2000])
        _make_later_due(row)


def _later(row: OutboxEvent) -> QuerySet[OutboxEvent]:
    """Return the events that wait for this one and were never tried; of one that was, a process may have a claim."""
    untried = OutboxEvent.objects.filter(delivered_at=None, dead_at=None, attempts=0)
    return untried.filter(target=row.target, stream=row.stream, channel=row.channel, pk__gt=row.pk)


def _make_later_due(row: OutboxEvent) -> None:
    """Make the events due that `record_failure` has put off for this one, if it is delivered or given up."""
    ended = ~Exists(OutboxEvent.objects.filter(pk=row.pk, delivered_at=None, dead_at=None))
    _later(row).filter(ended, next_attempt_at__gt=Now()).update(next_attempt_at=Now())
