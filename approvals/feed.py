"""What has happened to requests, for one caller, as AgentForge's events: read from the record, in its order.

The record is append-only, so a cursor into it stays good for ever. Where transactions overlap (PostgreSQL), an entry may
become visible after one with a higher id: entries behind a missing id are held back until it shows or can no longer come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.utils import timezone

from approvals import queries
from approvals.answers import words_of
from approvals.exceptions import Invalid
from approvals.machines import Caller
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import ASK_HUMAN, Door, Verdict
from approvals.wire import agentforge
from approvals.wire.agentforge import Asked, Cursor, Ended, Told

CREATED = "request.created"
ENDS = ("request.decided", "request.cancelled", "request.expired")
#: Entries read at once.
BATCH = 100
#: No transaction that writes to the record takes longer; a missing id behind which all is older was rolled back.
OVERLAP = timedelta(seconds=3)


@dataclass(frozen=True, slots=True)
class Batch:
    """Events as bytes, where the next batch begins, and whether it can be read at once."""

    frames: Sequence[bytes]
    cursor: Cursor
    more: bool


@dataclass(frozen=True, slots=True)
class _Row:
    pk: int
    at: datetime
    event: str
    request_id: UUID | None


def start(text: str) -> Cursor:
    """The place that a client names, or now if it names none. Invalid for what is no place of ours."""
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    if not text:
        rows = _rows(Cursor(max(last - BATCH, 0) + 1))
        return Cursor(rows[-1].pk + 1 if rows else last + 1)
    cursor = agentforge.cursor_from(text)
    if cursor is None:
        raise Invalid("This is no place in the stream.", {"Last-Event-ID": "is not the id of an event from here"})
    if cursor.entry > last + 1:
        words = "is ahead of the record, which may have been restored from a backup"
        raise Invalid("This place has not been reached. Connect without one.", {"Last-Event-ID": words})
    return cursor


def read(caller: Caller, thread: str, cursor: Cursor) -> Batch:
    """The next events behind `cursor` that this caller may see, of one thread if one is named."""
    rows = _rows(cursor)
    if not rows:
        return Batch((), cursor, more=False)
    after, more = Cursor(rows[-1].pk + 1), len(rows) == BATCH
    about = {row.pk: row.request_id for row in rows if row.request_id is not None and row.event in (CREATED, *ENDS)}
    seen = _visible(caller, thread).in_bulk(list(set(about.values()))) if about else {}
    waiting = _waiting_after([pk for pk, request_id in about.items() if request_id in seen])
    frames: list[bytes] = []
    for row in rows:
        if row.pk in waiting:
            told = _told(row.event, seen[about[row.pk]], waiting[row.pk])
            frames += agentforge.frames(row.pk, told, skip=cursor.shown if row.pk == cursor.entry else 0)
    return Batch(frames, after, more)


def asked(request: ApprovalRequest) -> Asked:
    """The request for the encoder; nothing in it changes once it is asked."""
    workflow = request.workflow
    labels = [option["label"] for option in request.options]
    return Asked(
        request_id=str(request.pk),
        thread_id=workflow.thread_id or workflow.key,
        kind=request.kind,
        title=request.title,
        message=request.message,
        tool=request.tool_name,
        input=request.input,
        schema=request.response_schema,
        context=request.context,
        priority=request.priority,
        created_at=ms(request.created_at),
        timeout=_timeout(request),
        default=words_of(request.default_response) if request.has_default else None,
        suggestions=[*labels, *request.suggestions],
    )


def ended(request: ApprovalRequest) -> Ended:
    """How the request ended, for the encoder."""
    decision = request.decision
    verdict = Verdict(decision.verdict)
    edited = verdict == Verdict.EDIT
    value = decision.edited_input if edited else decision.answer
    return Ended(
        status=request.status,
        verdict=verdict.value,
        given=edited or verdict == Verdict.RESPOND or (verdict == Verdict.EXPIRE and request.has_default),
        value=value,
        words=words_of(decision.answer),
        comment=decision.comment,
        stopped=decision.via == Door.STOP,
    )


def ms(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def _rows(cursor: Cursor) -> list[_Row]:
    """The next entries, as far as nothing can come between them any more."""
    found = AuditEntry.objects.filter(pk__gte=cursor.entry).order_by("pk")
    rows = [_Row(*row) for row in found.values_list("pk", "at", "event", "request_id")[:BATCH]]
    # The first entries of all begin with whatever number the database gave them.
    expected = cursor.entry if cursor.entry > 1 or not rows else rows[0].pk
    fresh = timezone.now() - OVERLAP
    for place, row in enumerate(rows):
        if row.pk != expected and row.at > fresh:
            return rows[:place]
        expected = row.pk + 1
    return rows


def _visible(caller: Caller, thread: str) -> QuerySet[ApprovalRequest]:
    found = queries.requests_for(caller.user)
    if caller.thread is not None:
        # Another owner's thread may have the same id.
        found = found.filter(workflow__owner=caller.user.pk).filter(_of_thread(caller.thread))
    return found.filter(_of_thread(thread)) if thread else found


def _of_thread(thread: str) -> Q:
    return Q(workflow__thread_id=thread) | Q(workflow__thread_id="", workflow__key=thread)


def _timeout(request: ApprovalRequest) -> float:
    if request.workflow.source == ASK_HUMAN:
        return float(request.input.get("timeout", 0))
    left = request.deadline_at
    return max(1, ms(left) - ms(request.created_at)) if left is not None else 0


def _waiting_after(entries: Sequence[int]) -> dict[int, int]:
    """How many requests of its workflow were open after each of these entries."""
    if not entries:
        return {}
    change = Case(When(event=CREATED, then=Value(1)), When(event__in=ENDS, then=Value(-1)), default=Value(0))
    before: Any = AuditEntry.objects.filter(scope=OuterRef("scope"), run_id=OuterRef("run_id"), pk__lte=OuterRef("pk"))
    # An entry of a workflow is written under the workflow's lock: those before it are all there.
    total = before.order_by().values("scope").annotate(total=Sum(change, output_field=IntegerField())).values("total")
    found = AuditEntry.objects.filter(pk__in=entries).annotate(waiting=Subquery(total))
    return dict(found.values_list("pk", "waiting"))


def _told(event: str, request: ApprovalRequest, waiting: int) -> list[Told]:
    if event == CREATED:
        return agentforge.request_events(asked(request), first=waiting == 1)
    return agentforge.end_events(asked(request), ended(request), last=waiting == 0)
