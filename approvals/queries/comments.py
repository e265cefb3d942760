"""What was said about requests, as a page shows it; a thread is read by who may see its request."""

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
#: Names offered where one hands a request over; others can be typed.
OFFERED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """What `approvals/people/_notes.html` shows: a page of comments, the newest first, and what this person may do."""

    request: ApprovalRequest
    comments: Sequence[RequestComment]
    earlier: int | None
    may_comment: bool
    may_hand: bool
    assigned: str
    people: Sequence[str] = ()
    refusal: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    typed: str = ""
    handed_to: str = ""


def comments_of(request: ApprovalRequest, *, before: int | None = None) -> QuerySet[RequestComment]:
    """The newest first, all of them or those before one; for who may see the request."""
    found = RequestComment.objects.filter(request_id=request.pk).order_by("-id")
    return found if before is None else found.filter(pk__lt=before)


def thread_for(user: User, request: ApprovalRequest, *, before: int | None = None) -> Thread:
    found = list(comments_of(request, before=before)[: PAGE + 1])
    may_hand = request.pending and permissions.may_close(user, request)
    return Thread(
        request=request,
        comments=found[:PAGE],
        earlier=found[PAGE - 1].pk if len(found) > PAGE else None,
        may_comment=permissions.may_comment(user, request),
        may_hand=may_hand,
        assigned=request.assigned_to.get_username() if request.assigned_to else "",
        people=people_for(user, request) if may_hand else (),
    )


def people_for(user: User, request: ApprovalRequest) -> Sequence[str]:
    """Names of people to hand it to; none for who sees only their own: they do not get to know who else is here."""
    if not permissions.sees_everything(user):
        return ()
    found = User.objects.filter(is_active=True) if request.kind in ASKS else permissions.deciders()
    return list(found.order_by("username").values_list("username", flat=True)[:OFFERED])


def touched_since(user: User, moment: datetime) -> QuerySet[ApprovalRequest]:
    """What somebody has taken, handed over or talked about since then, the oldest first."""
    return queries.requests_for(user).filter(touched_at__gte=moment).order_by("touched_at", "id")


def said_since(requests: Sequence[ApprovalRequest], moment: datetime) -> QuerySet[RequestComment]:
    """What was said about these requests since then, the oldest first."""
    return RequestComment.objects.filter(request__in=[request.pk for request in requests], at__gte=moment).order_by(
        "id"
    )
