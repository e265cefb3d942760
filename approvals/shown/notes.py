"""The internal notes of a request for display."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.db.cursors import page_before
from approvals.models import ApprovalRequest
from approvals.models.comments import RequestComment
from approvals.queries.comments import comments_of, suggested_assignees
from approvals.shown.requests import ShownHeading, shown_heading
from approvals.text.secrets import mask_text

#: How many notes a page shows.
PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNote:
    """A note with its keys masked. `mentions` are the people that it notified."""

    pk: int
    request_id: UUID
    by_name: str
    by_display: str | None
    at: datetime
    text: str
    mentions: Sequence[str]


def shown_notes(notes: Iterable[RequestComment]) -> list[ShownNote]:
    """Return notes that were read with their authors' names, for display."""
    return [
        ShownNote(
            pk=note.pk,
            request_id=note.request_id,
            by_name=note.by_name,
            by_display=note.by_display,
            at=note.at,
            text=mask_text(note.text),
            mentions=note.mentions or (),
        )
        for note in notes
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The context of `approvals/people/_notes.html`: a page of notes, newest first, and the reader's possible actions."""

    request: ShownHeading
    comments: Sequence[ShownNote]
    earlier: int | None
    may_comment: bool
    may_assign: bool
    assigned: str
    people: Sequence[str] = ()
    refusal: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    typed: str = ""
    assign_to: str = ""


def notes_for(
    viewer: Standing, request: ApprovalRequest, *, before: int | None = None
) -> Notes:
    """Return a page of the notes of a request, and a person's possible actions there."""
    notes, earlier = page_before(comments_of(request), before, PAGE)
    may_assign = request.pending and permissions.may_close(viewer, request)
    return Notes(
        request=shown_heading(request),
        comments=shown_notes(notes),
        earlier=earlier,
        may_comment=permissions.may_comment(viewer, request),
        may_assign=may_assign,
        assigned=request.assigned_to.get_username() if request.assigned_to else "",
        people=suggested_assignees(viewer, request) if may_assign else (),
    )
