"""Transactional outbox: events are written with the change that they report, and delivered at least once per target, in order.

A target is a function listed in HITL_EVENT_HANDLERS, a webhook (`approvals.outbound.webhooks`), or the recipients of
notification rules (`approvals.outbound.notifications`). A function gets an `Event`, whose `id` is the same when it is
resent. Events become due by the clock of the database, which all processes share.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Now
from django.utils import timezone

from approvals.addresses import RefusedAddress, parse_destination
from approvals.db.canonical_json import utc
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, OutboxEvent, Workflow
from approvals.models.attachments import public_documents
from approvals.models.subscriptions import subscribers
from approvals.states import Channel
from approvals.text.secrets import mask_text

logger = logging.getLogger(__name__)

#: All event names.
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
    "callback.not_taken",
    "callback.unknown",
)

#: Events about the end of a request, which are sent to its `callback_url`.
FINAL_EVENTS = frozenset({"request.decided", "request.cancelled", "request.expired"})

#: Events that always notify the people named in the request's terms.
FOLLOW_UPS = frozenset({"request.reminded", "request.escalated"})

#: Channels that only try the first event of each stream and target.
ORDERED = (Channel.HANDLER, Channel.WEBHOOK)
BATCH = 50
#: Each round delivers the first event of every stream. After this many rounds the sweep turns to its other duties.
ROUNDS = 100
#: How long a process owns a claimed event; then another one may try to deliver it.
CLAIM = timedelta(minutes=5)
FIRST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(hours=1)
GIVE_UP_AFTER = timedelta(days=3)
#: How long an outcome without people waits until its engine is called.
AUTOMATIC_WAIT = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The argument of a handler. `stream` names the workflow, whose events come in order; `data` is plain JSON."""

    id: UUID
    name: str
    stream: str
    occurred_at: datetime
    data: JsonMapping


Handler = Callable[[Event], None]


def enqueue(
    name: str,
    *,
    stream: str,
    data: JsonMapping,
    callback_url: str = "",
    engine: str = "",
    automatic: bool = False,
    heard: bool = True,
    notices: bool = False,
) -> None:
    """Write an event for every target; call this inside the transaction that it reports.

    Pass `heard=False` if the caller has read in this transaction that there are no subscribers (`models.subscriptions.heard`).
    `notices`: also notify people. `engine` is the name of the engine that waits for the end; it gets an `automatic` one a
    moment later, because it may not wait yet.
    """
    assert name in EVENTS, name
    rows = [
        OutboxEvent(channel=Channel.HANDLER, target=path, next_attempt_at=Now())
        for path in settings.HITL_EVENT_HANDLERS
    ]
    targets = list(subscribers()) if heard else []
    rows += [
        _to_url(f"endpoint:{pk}", url)
        for pk, url, events in targets
        if pk is not None and name in events
    ]
    if callback_url and name in FINAL_EVENTS:
        rows.append(_to_url(f"callback:{callback_url}", callback_url))
    if engine and name in FINAL_EVENTS:
        rows.append(_to_engine(engine, data["request_id"], automatic=automatic))
    if (
        notices and any(pk is None for pk, _url, _events in targets)
    ) or name in FOLLOW_UPS:
        notice = OutboxEvent(channel=Channel.NOTICE, target="notices")
        notice.next_attempt_at = Now()
        rows.append(notice)
    write_event(name, rows, stream=stream, data=data)


def write_event(
    name: str, rows: Sequence[OutboxEvent], *, stream: str, data: JsonMapping
) -> None:
    """Write an event for the targets of these rows; call this inside the transaction that it reports."""
    if not rows:
        return
    event_id = uuid4()
    now = timezone.now()
    number = next_number(stream)
    for row in rows:
        row.event_id = event_id
        row.name = name
        row.created_at = now
        row.stream = stream
        row.sequence = number
        row.payload = dict(data)
    OutboxEvent.objects.bulk_create(rows)


def _to_url(target: str, url: str) -> OutboxEvent:
    return OutboxEvent(
        channel=Channel.WEBHOOK,
        target=target,
        lane=lane_of(url),
        next_attempt_at=Now(),
    )


def _to_engine(name: str, request_id: str, *, automatic: bool) -> OutboxEvent:
    return OutboxEvent(
        channel=Channel.ENGINE,
        # Of its own, so that no decision waits behind another one of its workflow.
        target=f"engine:{request_id}",
        lane=lane_of_engine(name),
        next_attempt_at=Now() + AUTOMATIC_WAIT if automatic else Now(),
    )


def lane_of_engine(name: str) -> str:
    """Return the lane of an engine, which is its own even on a host that others share."""
    return f"engine:{name}"


def lane_of(url: str) -> str:
    """Return the host and port of an address, which are shared by all its deliveries."""
    try:
        return parse_destination(url, allow_private=True).authority
    except RefusedAddress:
        # Reported when it is sent: a bad address must not block a decision.
        return "nowhere"


def write_request_event(
    name: str, rows: Sequence[OutboxEvent], request: ApprovalRequest, **more: Any
) -> None:
    """Write an event of a request, like `write_event`."""
    stream = stream_of(request.scope, request.workflow.key)
    data = request_data(request, request.workflow) | more
    write_event(name, rows, stream=stream, data=data)


_COUNT_UP = """
    INSERT INTO approvals_eventstream (name, last) VALUES (%s, 1)
    ON CONFLICT (name) DO UPDATE SET last = approvals_eventstream.last + 1 RETURNING last
"""


def next_number(stream: str) -> int:
    """Return the next event number of a stream, and lock its row until the commit to keep the ids in order."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_UP, [stream])
        return int(cursor.fetchone()[0])


def stream_of(scope: str, run_id: str) -> str:
    """Return the name of the stream of a workflow or turn."""
    return f"{scope}:{run_id}"


def request_data(request: ApprovalRequest, workflow: Workflow) -> JsonDict:
    """Return the data of request events, without input and answer, which only some people may see."""
    files = public_documents(request)
    deadline = request.deadline_at
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
        **({"deadline_at": utc(deadline)} if deadline else {}),
        **({"trace": request.trace} if request.trace else {}),
    }


def deliver_due() -> None:
    """Call the handlers of due events in stream order; a failing handler holds up only its own stream."""
    for _ in range(ROUNDS):
        called = [
            _call(row)
            for row in head_events(Channel.HANDLER)[:BATCH]
            if claim_event(row)
        ]
        if not any(called):
            return


@cache
def load_handler(path: str) -> Handler:
    """Return the function at a dotted path. Raise ImportError or TypeError."""
    module, _, name = path.rpartition(".")
    loaded: Any = getattr(import_module(module), name, None) if module else None
    if not callable(loaded):
        raise TypeError(f"{path} is not a function")
    handler: Handler = loaded
    return handler


def undelivered_events(*channels: Channel) -> QuerySet[OutboxEvent]:
    """Return the events that are neither delivered nor given up."""
    return OutboxEvent.objects.filter(
        delivered_at=None, dead_at=None, channel__in=channels
    )


def due_events(now: Any, *channels: Channel) -> QuerySet[OutboxEvent]:
    """Return the undelivered events that are due."""
    return undelivered_events(*channels).filter(next_attempt_at__lte=now)


def head_events(channel: Channel) -> QuerySet[OutboxEvent]:
    """Return the due events that are first in their stream and target, longest due first."""
    undone = OutboxEvent.objects.filter(delivered_at=None, dead_at=None)
    earlier = undone.filter(
        target=OuterRef("target"), stream=OuterRef("stream"), pk__lt=OuterRef("pk")
    )
    return (
        due_events(Now(), channel)
        .filter(~Exists(earlier))
        .order_by("next_attempt_at", "pk")
    )


def claim_event(
    row: OutboxEvent, lease: timedelta | None = None, **columns: Any
) -> bool:
    """Claim an event until `lease` (default CLAIM) ends, with these columns; return False if another process was faster."""
    mine = OutboxEvent.objects.filter(
        pk=row.pk, delivered_at=None, attempts=row.attempts, next_attempt_at__lte=Now()
    )
    row.attempts += 1
    return bool(
        mine.update(
            attempts=F("attempts") + 1,
            next_attempt_at=Now() + (lease or CLAIM),
            **columns,
        )
    )


def _call(row: OutboxEvent) -> bool:
    event = Event(
        id=row.event_id,
        name=row.name,
        stream=row.stream,
        occurred_at=row.created_at,
        data=row.payload,
    )
    try:
        load_handler(row.target)(event)
    except Exception as error:
        logger.warning(
            "%s failed in handler %s (attempt %d)",
            row.name,
            row.target,
            row.attempts,
            exc_info=True,
        )
        record_failure(row, f"{type(error).__name__}: {error}")
        return False
    mark_delivered(row)
    return True


def mark_delivered(*rows: OutboxEvent, note: str = "") -> None:
    """Mark events as delivered; `note` gives the reason if nothing was sent."""
    # Only an event that has failed has delayed others. A resent event starts its attempts anew.
    failed = [
        row
        for row in rows
        if row.channel in ORDERED
        and (row.attempts > 1 or row.sent_again_at is not None)
    ]
    with transaction.atomic(savepoint=False) if failed else nullcontext():
        OutboxEvent.objects.filter(pk__in=[row.pk for row in rows]).update(
            delivered_at=Now(), last_error=note
        )
        for row in failed:
            _make_later_due(row)


def record_failure(
    row: OutboxEvent, error: str, *, least: int = 0, **columns: Any
) -> None:
    """Schedule the next attempt with a delay that doubles each time, or give the event up after GIVE_UP_AFTER.

    `least` is the number of seconds that the receiver has asked for; `columns` are stored with it.
    """
    wait = min(FIRST_WAIT * 2 ** min(row.attempts - 1, 20), LONGEST_WAIT)
    wait = min(max(wait, timedelta(seconds=least)), LONGEST_WAIT)
    begun_before = Now() - GIVE_UP_AFTER
    too_old = Q(sent_again_at=None, created_at__lt=begun_before) | Q(
        sent_again_at__lt=begun_before
    )
    failed = OutboxEvent.objects.filter(pk=row.pk, delivered_at=None)
    # In one transaction, whose lock on the event keeps another process from closing it in between.
    with transaction.atomic(savepoint=False):
        failed.update(
            next_attempt_at=Now() + wait,
            last_error=error[:2000],
            dead_at=Case(When(too_old, then=Now())),
            **columns,
        )
        if row.channel in ORDERED:
            # Otherwise each search for due events would read them, although they have to wait for this one.
            retried = failed.filter(dead_at=None)
            _later(row).filter(Exists(retried)).update(
                next_attempt_at=Subquery(retried.values("next_attempt_at"))
            )
            _make_later_due(row)


def give_up(row: OutboxEvent, error: str, **columns: Any) -> bool:
    """Give an event up at once, because no further attempt can succeed; return False if it has ended already."""
    with transaction.atomic(savepoint=False):
        undone = OutboxEvent.objects.filter(pk=row.pk, delivered_at=None, dead_at=None)
        given_up = undone.update(dead_at=Now(), last_error=error[:2000], **columns)
        _make_later_due(row)
    return bool(given_up)


def _later(row: OutboxEvent) -> QuerySet[OutboxEvent]:
    """Return the untried events behind this one; a process may hold a claim on tried ones."""
    untried = OutboxEvent.objects.filter(delivered_at=None, dead_at=None, attempts=0)
    return untried.filter(
        target=row.target, stream=row.stream, channel=row.channel, pk__gt=row.pk
    )


def _make_later_due(row: OutboxEvent) -> None:
    """Make events due that `record_failure` delayed because of this one, once it is delivered or given up."""
    ended = ~Exists(
        OutboxEvent.objects.filter(pk=row.pk, delivered_at=None, dead_at=None)
    )
    _later(row).filter(ended, next_attempt_at__gt=Now()).update(next_attempt_at=Now())
