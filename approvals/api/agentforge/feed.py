"""Read the audit log as AgentForge's events, in its order.

The audit log is append-only, so a cursor into it stays valid forever. With overlapping transactions (PostgreSQL), an entry may
become visible after one with a higher id, so entries after a missing id are held back until it appears or no longer can.

Requests and answers may be large. A page is read without them, and they are loaded only for entries that a follower may receive,
up to LOADED characters at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import (
    F,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.functions import Cast, Coalesce, Length, Now
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.callers import Caller
from approvals.api import frame
from approvals.api.agentforge import encode
from approvals.api.agentforge.encode import StreamCursor, StreamEvent
from approvals.api.exchange import asked, ended
from approvals.api.outcomes import ReadRequest
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, AuditEntry
from approvals.queries import BODIES, UNLISTED, UNREAD
from approvals.record import sequence
from approvals.record.events import VERDICTS

CREATED = "request.created"
#: Entries per read.
BATCH = 100
#: Minimum wait for a missing id: a transaction that has just drawn it may not be listed as active yet.
OVERLAP = timedelta(seconds=3)
#: Characters of requests and decisions that one read loads; a single one may be larger.
LOADED = 2_000_000


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One audit entry about a request; `waiting` is the number of pending requests of its workflow after it.

    Only the request columns that `may_receive` needs are loaded, and the `size` of the others.
    """

    pk: int
    event: str
    request: ApprovalRequest
    waiting: int
    skip: int
    #: Whether it is for a caller who may not read the request's secrets.
    masked: bool = False

    @property
    def size(self) -> int:
        return self.request.size

    @property
    def key(self) -> tuple[int, int, bool]:
        return self.pk, self.skip, self.masked


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Entries, the cursor of the next page, and whether more can be read at once."""

    entries: Sequence[FeedEntry]
    cursor: StreamCursor
    more: bool


@dataclass(frozen=True, slots=True)
class _Row:
    pk: int
    at: datetime
    event: str
    request_id: UUID | None
    clock: datetime


def start_cursor(text: str) -> StreamCursor:
    """Return the client's cursor, or the current end without one. Raise Invalid."""
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    if not text:
        # An entry with an id that is not committed yet counts as new, however many entries follow it.
        return StreamCursor(sequence.first_open() or last + 1)
    cursor = StreamCursor.of_event(text)
    if cursor is None:
        raise Invalid(
            _("The `Last-Event-ID` header is invalid."),
            {"Last-Event-ID": _("is not the id of an event of this stream")},
        )
    if cursor.entry > last + 1:
        message = _(
            "is later than the newest event; the database may have been restored from a backup"
        )
        raise Invalid(
            _("This event does not exist yet. Connect without `Last-Event-ID`."),
            {"Last-Event-ID": message},
        )
    return cursor


def read_page(cursor: StreamCursor) -> FeedPage:
    """Return the entries after `cursor`; check each with `may_receive`."""
    rows = _rows(cursor)
    if not rows:
        return FeedPage((), cursor, more=False)
    about = {
        row.pk: row
        for row in rows
        if row.request_id is not None and row.event in (CREATED, *VERDICTS)
    }
    ids = {row.request_id for row in about.values()}
    requests = _without_bodies().in_bulk(list(ids)) if ids else {}
    # Stored with each entry.
    waiting = dict(
        AuditEntry.objects.filter(pk__in=about).values_list("pk", "open_after")
    )
    entries = [
        FeedEntry(
            row.pk,
            row.event,
            request,
            waiting[row.pk] or 0,
            cursor.shown if row.pk == cursor.entry else 0,
        )
        for row in about.values()
        if (request := requests.get(row.request_id)) is not None
    ]
    return FeedPage(entries, StreamCursor(rows[-1].pk + 1), more=len(rows) == BATCH)


class FrameCache:
    """Encode entries for all followers of one read, so that shared ones are loaded and encoded once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, bool], list[bytes]] = {}
        self._size = 0

    def frames(
        self, entries: Sequence[FeedEntry]
    ) -> tuple[list[bytes], StreamCursor | None]:
        """Return the frames of as many entries as one read may load, and the cursor of the rest, if any."""
        chosen = list[FeedEntry]()
        size = 0
        for entry in entries:
            size += entry.size
            if chosen and size > LOADED:
                break
            chosen.append(entry)
        self._load(chosen)
        frames = [frame for entry in chosen for frame in self._known[entry.key]]
        rest = entries[len(chosen) :]
        return frames, StreamCursor(rest[0].pk, rest[0].skip) if rest else None

    def _load(self, entries: Sequence[FeedEntry]) -> None:
        if self._size > 4 * LOADED:
            # Followers at other cursors follow; frames that were already sent need not be kept.
            self._known = {}
            self._size = 0
        new = [entry for entry in entries if entry.key not in self._known]
        if not new:
            return
        queryset = ApprovalRequest.objects.select_related("workflow", "decision").defer(
            UNREAD
        )
        requests = queryset.in_bulk([entry.request.pk for entry in new])
        for entry in new:
            events = _events(entry, requests[entry.request.pk])
            self._known[entry.key] = encode.frames(entry.pk, events, skip=entry.skip)
            self._size += entry.size


def _events(entry: FeedEntry, request: ApprovalRequest) -> list[StreamEvent]:
    read = ReadRequest(request, masks=entry.masked)
    if entry.event == CREATED:
        return encode.request_events(asked(read), first=entry.waiting == 1)
    return encode.end_events(asked(read), ended(read), last=entry.waiting == 0)


def _without_bodies() -> QuerySet[ApprovalRequest]:
    """Return requests without the columns that may be large, with their total `size`."""
    size: Any = Value(0)
    for name in UNLISTED:
        size = size + Coalesce(Length(Cast(F(name), TextField())), 0)
    requests = ApprovalRequest.objects.select_related("workflow").defer(*BODIES, UNREAD)
    return requests.annotate(size=size)  # type: ignore[no-redef]  # declared on the model, to be read


def may_receive(caller: Caller, thread: str, request: ApprovalRequest) -> bool:
    """Return whether an active caller may receive the events of a request; `thread` limits them to one thread."""
    workflow = request.workflow
    of = workflow.thread_id or workflow.key
    # Threads of different owners may have the same id.
    if not frame.reaches(caller, of, owner=workflow.owner_id):
        return False
    own = caller.user.pk in {request.requested_by_id, request.assigned_to_id}
    return thread in {"", of} and (own or permissions.may_see(caller.standing, request))


def _rows(cursor: StreamCursor) -> list[_Row]:
    """Return the next entries up to the first missing id that may still appear."""
    settled = 0
    while True:
        entries = AuditEntry.objects.filter(pk__gte=cursor.entry).order_by("pk")
        rows = [
            _Row(*row)
            for row in entries.values_list("pk", "at", "event", "request_id", Now())[
                :BATCH
            ]
        ]
        end = next(
            (place for place in _gaps(rows, cursor) if rows[place].pk > settled), None
        )
        if end is None:
            return rows
        if _is_recent(rows[end]) or (newly := sequence.settled()) < rows[end].pk:
            return rows[:end]
        # Read again: a missing entry may have appeared between the read and the look.
        settled = newly


def _gaps(rows: Sequence[_Row], cursor: StreamCursor) -> Iterator[int]:
    """Yield the index of each row whose predecessor is missing."""
    # The very first entry may have any id.
    expected = cursor.entry if cursor.entry > 1 or not rows else rows[0].pk
    for place, row in enumerate(rows):
        if row.pk != expected:
            yield place
        expected = row.pk + 1


#: The first time this process saw an entry after a missing id, by the entry's id.
_seen: dict[int, float] = {}


def _is_recent(row: _Row) -> bool:
    """Return whether an entry is younger than OVERLAP by the database's clock, or was first seen within it."""
    if row.at <= row.clock - OVERLAP:
        return False
    if len(_seen) > BATCH:
        _seen.clear()
    return monotonic() - _seen.setdefault(row.pk, monotonic()) < OVERLAP.total_seconds()
