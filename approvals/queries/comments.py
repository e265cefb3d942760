"""Internal notes of requests, and the people to whom a request can be assigned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import QuerySet

from approvals import queries
from approvals.access import permissions
from approvals.models import ApprovalRequest
from approvals.models.comments import RequestComment
from approvals.states import ASKS

PAGE = 50
#: How many usernames the assign form suggests; others can be typed.
MAX_SUGGESTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The context of `approvals/people/_notes.html`: a page of notes, newest first, and what the reader may do."""

    request: ApprovalRequest
    comments: Sequence[RequestComment]
    earlier: int | None
    may_comment: bool
    may_assign: bool
    assigned: str
    people: Sequence[str] = ()
    refusal: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    typed: str = ""
    assign_to: str = ""


def comments_of(request: ApprovalRequest, *, before: int | None = None) -> QuerySet[RequestComment]:
    """Return the notes of a request, newest first; with `before`, only those older than that id."""
    notes = RequestComment.objects.filter(request_id=request.pk).order_by("-id")
    return notes if before is None else notes.filter(pk__lt=before)


def notes_for(user: User, request: ApprovalRequest, *, before: int | None = None) -> Notes:
    notes = list(comments_of(request, before=before)[: PAGE + 1])
    may_assign = request.pending and permissions.may_close(user, request)
    return Notes(
        request=request,
        comments=notes[:PAGE],
        earlier=notes[PAGE - 1].pk if len(notes) > PAGE else None,
        may_comment=permissions.may_comment(user, request),
        may_assign=may_assign,
        assigned=request.assigned_to.get_username() if request.assigned_to else "",
        people=suggested_assignees(user, request) if may_assign else (),
    )


def suggested_assignees(user: User, request: ApprovalRequest) -> Sequence[str]:
    """Return the usernames to suggest. People who see only their own requests get none, so they cannot list users."""
    if not permissions.sees_everything(user):
        return ()
    people = User.objects.filter(is_active=True) if request.kind in ASKS else permissions.deciders()
    return list(people.order_by("username").values_list("username", flat=True)[:MAX_SUGGESTIONS])


def requests_touched_since(user: User, moment: datetime) -> QuerySet[ApprovalRequest]:
    """Return the requests that were claimed, assigned or commented on since `moment`, oldest first."""
    return queries.requests_for(user).filter(touched_at__gte=moment).order_by("touched_at", "id")


def comments_since(requests: Sequence[ApprovalRequest], moment: datetime) -> QuerySet[RequestComment]:
    """Return the notes on these requests since `moment`, oldest first."""
    return RequestComment.objects.filter(request__in=[request.pk for request in requests], at__gte=moment).order_by(
        "id"
    )
