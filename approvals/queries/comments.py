"""Internal notes of requests, and the people to whom a request can be assigned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.models.comments import RequestComment
from approvals.states import ASKS
from approvals.text.markdown import names_in

PAGE = 50
#: How many usernames the assign form suggests; others can be typed.
MAX_SUGGESTIONS = 100

#: People whom one note notifies, and people who are suggested at once.
MAX_MENTIONS, MAX_SUGGESTED = 20, 8


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
    notes = with_authors(RequestComment.objects.filter(request_id=request.pk)).order_by("-id")
    return notes if before is None else notes.filter(pk__lt=before)


def with_authors(notes: QuerySet[RequestComment]) -> QuerySet[RequestComment]:
    """Return the notes with the display names of their authors, in the same read; empty where a key wrote."""
    authors = User.objects.filter(pk=OuterRef("by_id"), username=OuterRef("by_name")).values("first_name")
    return notes.annotate(by_display=Subquery(authors[:1]))  # type: ignore[no-redef]


def notes_for(viewer: Standing, request: ApprovalRequest, *, before: int | None = None) -> Notes:
    notes = list(comments_of(request, before=before)[: PAGE + 1])
    may_assign = request.pending and permissions.may_close(viewer, request)
    return Notes(
        request=request,
        comments=notes[:PAGE],
        earlier=notes[PAGE - 1].pk if len(notes) > PAGE else None,
        may_comment=permissions.may_comment(viewer, request),
        may_assign=may_assign,
        assigned=request.assigned_to.get_username() if request.assigned_to else "",
        people=suggested_assignees(viewer, request) if may_assign else (),
    )


def suggested_assignees(viewer: Standing, request: ApprovalRequest) -> Sequence[str]:
    """Return the usernames to suggest. People who see only their own requests get none, so they cannot list users."""
    if not permissions.sees_everything(viewer):
        return ()
    people = User.objects.filter(is_active=True) if request.kind in ASKS else permissions.deciders_of(request)
    return list(people.order_by("username").values_list("username", flat=True)[:MAX_SUGGESTIONS])


def requests_touched_since(viewer: Standing, moment: datetime) -> QuerySet[ApprovalRequest]:
    """Return the requests that were claimed, assigned or commented on since `moment`, oldest first."""
    return queries.with_names(queries.requests_for(viewer)).filter(touched_at__gte=moment).order_by("touched_at", "id")


def comments_since(requests: Sequence[ApprovalRequest], moment: datetime) -> QuerySet[RequestComment]:
    """Return the notes on these requests since `moment`, oldest first."""
    notes = RequestComment.objects.filter(request__in=[request.pk for request in requests], at__gte=moment)
    return with_authors(notes).order_by("id")


def mentioned_in(text: str, request: ApprovalRequest, by: Actor) -> list[User]:
    """Return the people whom a note mentions and who may see the request, without its author."""
    names = names_in(text) if "@" in text else []
    if not names:
        return []
    people = permissions.readers_of(request).filter(username__in=names[: 3 * MAX_MENTIONS]).exclude(pk=by.pk)
    return list(people.order_by("username")[:MAX_MENTIONS])


def people_to_mention(viewer: Standing, request: ApprovalRequest, text: str) -> list[User]:
    """Return the people to suggest for a text after an @.

    People who see only their own requests cannot list users: they get those who have to do with the request.
    """
    people = permissions.readers_of(request).exclude(pk=viewer.pk)
    if not permissions.sees_everything(viewer):
        people = people.filter(_involved(request))
    people = people.filter(Q(username__icontains=text) | Q(first_name__icontains=text))
    return list(people.order_by("username")[:MAX_SUGGESTED])


def people_known_to(viewer: Standing, request: ApprovalRequest, text: str) -> list[str]:
    """Return the usernames to suggest for a field of a form: of active people, as far as this person may know them."""
    people = User.objects.filter(is_active=True)
    if not permissions.sees_everything(viewer):
        people = people.filter(_involved(request) | Q(pk=viewer.pk))
    people = people.filter(Q(username__icontains=text) | Q(first_name__icontains=text))
    return list(people.order_by("username").values_list("username", flat=True)[:MAX_SUGGESTED])


def _involved(request: ApprovalRequest) -> Q:
    """Return who has to do with a request."""
    wrote = RequestComment.objects.filter(request_id=request.pk, by_id=OuterRef("pk"))
    named = (request.requested_by_id, request.assigned_to_id, request.claimed_by_id)
    return Q(pk__in=[pk for pk in named if pk]) | Q(Exists(wrote))
