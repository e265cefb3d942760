"""What has happened to requests, as AgentForge's events: read from the record, in its order.

The record is append-only, so a cursor into it stays good for ever. Where transactions overlap (PostgreSQL), an entry may
become visible after one with a higher id: entries behind a missing id are held back until it shows or can no longer come.

What was asked and answered may be large. A page is found without it, and it is loaded for those entries only that somebody
may hear of, up to LOADED bytes at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import Case, F, IntegerField, OuterRef, QuerySet, Subquery, Sum, TextField, Value, When
from django.db.models.functions import Cast, Coalesce, Length, Now
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.callers import Caller
from approvals.api import agentforge
from approvals.api.agentforge import Asked, Cursor, Ended, Told
from approvals.asking.answers import words_of
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, AuditEntry
from approvals.queries import BODIES, UNLISTED, UNREAD
from approvals.record import sequence
from approvals.states import ASK_HUMAN, Door, Verdict

CREATED = "request.created"
ENDS = ("request.decided", "request.cancelled", "request.expired")
#: Entries read at once.
BATCH = 100
#: A transaction that has just drawn its number may not be known as one at work yet; this long it is waited for at least.
OVERLAP = timedelta(seconds=3)
#: How much of requests and decisions one look loads, in characters; a single one may be larger.
LOADED = 2_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the record, about a request; `waiting` is how many of its workflow's requests were open after it.

    Of the request only what `may_hear` needs is there, and the `size` of the rest.
    """

    pk: int
    event: str
    request: ApprovalRequest
    waiting: int
    skip: int

    @property
    def size(self) -> int:
        size: int = getattr(self.request, "size")  # noqa: B009 - an annotation, unknown to the model's type
        return size


@dataclass(frozen=True, slots=True)
class Page:
    """Entries for whoever may hear of them, where the next page begins, and whether it can be read at once."""

    entries: Sequence[Entry]
    cursor: Cursor
    more: bool


@dataclass(frozen=True, slots=True)
class _Row:
    pk: int
    at: datetime
    event: str
    request_id: UUID | None
    clock: datetime


def start(text: str) -> Cursor:
    """The place that a client names, or now if it names none. Invalid for what is no place of ours."""
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    if not text:
        # An entry that has its number and is not committed yet is news, however many have come behind it.
        return Cursor(sequence.first_open() or last + 1)
    cursor = agentforge.cursor_from(text)
    if cursor is None:
        raise Invalid(
            _("The `Last-Event-ID` header is invalid."),
            {"Last-Event-ID": _("is not the id of an event of this stream")},
        )
    if cursor.entry > last + 1:
        words = _("is later than the newest event; the database may have been restored from a backup")
        raise Invalid(_("This event does not exist yet. Connect without `Last-Event-ID`."), {"Last-Event-ID": words})
    return cursor


def read(cursor: Cursor) -> Page:
    """What has happened behind `cursor`; `may_hear` says who may be told of it."""
    rows = _rows(cursor)
    if not rows:
        return Page((), cursor, more=False)
    about = {row.pk: row for row in rows if row.request_id is not None and row.event in (CREATED, *ENDS)}
    ids = {row.request_id for row in about.values()}
    requests = _light().in_bulk(list(ids)) if ids else {}
    waiting = _waiting_after(list(about))
    entries = [
        Entry(row.pk, row.event, request, waiting[row.pk], cursor.shown if row.pk == cursor.entry else 0)
        for row in about.values()
        if (request := requests.get(row.request_id)) is not None
    ]
    return Page(entries, Cursor(rows[-1].pk + 1), more=len(rows) == BATCH)


class Teller:
    """Entries as bytes, for all who read in one look: what many hear of is loaded and encoded once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[bytes]] = {}
        self._size = 0

    def tell(self, entries: Sequence[Entry]) -> tuple[list[bytes], Cursor | None]:
        """The events of these entries, as many as one look may load; and where the rest begins, if there is one."""
        told, size = list[Entry](), 0
        for entry in entries:
            size += entry.size
            if told and size > LOADED:
                break
            told.append(entry)
        self._load(told)
        frames = [frame for entry in told for frame in self._known[entry.pk, entry.skip]]
        rest = entries[len(told) :]
        return frames, Cursor(rest[0].pk, rest[0].skip) if rest else None

    def _load(self, entries: Sequence[Entry]) -> None:
        if self._size > 4 * LOADED:
            # Those who stand elsewhere read on; what they have heard need not be kept.
            self._known, self._size = {}, 0
        new = [entry for entry in entries if (entry.pk, entry.skip) not in self._known]
        if not new:
            return
        found = ApprovalRequest.objects.select_related("workflow", "decision").defer(UNREAD)
        requests = found.in_bulk([entry.request.pk for entry in new])
        for entry in new:
            told = _told(entry, requests[entry.request.pk])
            self._known[entry.pk, entry.skip] = agentforge.frames(entry.pk, told, skip=entry.skip)
            self._size += entry.size


def _told(entry: Entry, request: ApprovalRequest) -> list[Told]:
    if entry.event == CREATED:
        return agentforge.request_events(asked(request), first=entry.waiting == 1)
    return agentforge.end_events(asked(request), ended(request), last=entry.waiting == 0)


def _light() -> QuerySet[ApprovalRequest]:
    """Requests without what may be large, and how large that is."""
    size: Any = Value(0)
    for name in UNLISTED:
        size = size + Coalesce(Length(Cast(F(name), TextField())), 0)
    return ApprovalRequest.objects.select_related("workflow").defer(*BODIES, UNREAD).annotate(size=size)


def may_hear(caller: Caller, thread: str, request: ApprovalRequest) -> bool:
    """Whether an active caller is told of a request: what they may see, of one thread if one is named."""
    workflow, user = request.workflow, caller.user
    of = workflow.thread_id or workflow.key
    # Another owner's thread may have the same id as a token's.
    if caller.thread is not None and (caller.thread, user.pk) != (of, workflow.owner_id):
        return False
    own = user.pk in {request.requested_by_id, request.assigned_to_id}
    return thread in {"", of} and (own or permissions.may_see(user, request))


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
    rows = [_Row(*row) for row in found.values_list("pk", "at", "event", "request_id", Now())[:BATCH]]
    # The first entries of all begin with whatever number the database gave them.
    expected = cursor.entry if cursor.entry > 1 or not rows else rows[0].pk
    for place, row in enumerate(rows):
        if row.pk != expected and (_is_fresh(row) or not sequence.none_can_come_below(row.pk)):
            return rows[:place]
        expected = row.pk + 1
    return rows


#: When this process has first seen the latest entries behind a missing one.
_seen: dict[int, float] = {}


def _is_fresh(row: _Row) -> bool:
    """Whether an entry came within OVERLAP, by the database's clock; where its writer's was ahead, since it was first seen."""
    if row.at <= row.clock - OVERLAP:
        return False
    if len(_seen) > BATCH:
        _seen.clear()
    return monotonic() - _seen.setdefault(row.pk, monotonic()) < OVERLAP.total_seconds()


def _timeout(request: ApprovalRequest) -> float:
    if request.workflow.source == ASK_HUMAN:
        return float(request.input.get("timeout", 0))
    left = request.deadline_at
    return max(1, ms(left) - ms(request.created_at)) if left is not None else 0


def _waiting_after(entries: Sequence[int]) -> dict[int, int]:
    """How many requests of its workflow were open after each of these entries.

    The entry says so itself; those from before it did are counted.
    """
    said = AuditEntry.objects.filter(pk__in=entries).values_list("pk", "open_after")
    known = {pk: waiting for pk, waiting in said if waiting is not None}
    return known | _counted([pk for pk in entries if pk not in known])


def _counted(entries: Sequence[int]) -> dict[int, int]:
    if not entries:
        return {}
    change = Case(When(event=CREATED, then=Value(1)), When(event__in=ENDS, then=Value(-1)), default=Value(0))
    before: Any = AuditEntry.objects.filter(scope=OuterRef("scope"), run_id=OuterRef("run_id"), pk__lte=OuterRef("pk"))
    # An entry of a workflow is written under the workflow's lock: those before it are all there.
    total = before.order_by().values("scope").annotate(total=Sum(change, output_field=IntegerField())).values("total")
    found = AuditEntry.objects.filter(pk__in=entries).annotate(waiting=Subquery(total))
    return dict(found.values_list("pk", "waiting"))
