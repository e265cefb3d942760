"""Internal notes of requests, and suggestions of assignees and mentions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.models.comments import RequestComment
from approvals.queries.policy.deciders import MAX_SUGGESTIONS, suggested_deciders
from approvals.queries.suggestions import usernames
from approvals.states import ASKS

#: Maximum number of people notified by a note, and of people suggested at once.
MAX_MENTIONS = 20
MAX_SUGGESTED = 8


def comments_of(request: ApprovalRequest) -> QuerySet[RequestComment]:
    """Return the notes of a request, newest first."""
    notes = RequestComment.objects.filter(request_id=request.pk)
    return with_authors(notes).order_by("-id")


def with_authors(notes: QuerySet[RequestComment]) -> QuerySet[RequestComment]:
    """Return the notes with their authors' display names, in the same read; empty for notes by a key."""
    authors = User.objects.filter(
        pk=OuterRef("by_id"), username=OuterRef("by_name")
    ).values("first_name")
    return notes.annotate(by_display=Subquery(authors[:1]))  # type: ignore[no-redef]


def suggested_assignees(viewer: Standing, request: ApprovalRequest) -> Sequence[str]:
    """Return suggested usernames. People who see only their own requests get none, so they cannot list users."""
    if not permissions.sees_everything(viewer):
        return ()
    if request.kind not in ASKS:
        return suggested_deciders(request)
    return usernames(User.objects.filter(is_active=True), MAX_SUGGESTIONS)


def requests_touched_since(
    viewer: Standing, moment: datetime
) -> QuerySet[ApprovalRequest]:
    """Return the requests claimed, assigned or commented on since `moment`, oldest first."""
    return (
        queries.with_names(queries.requests_for(viewer))
        .filter(touched_at__gte=moment)
        .order_by("touched_at", "id")
    )


def comments_since(
    requests: Sequence[ApprovalRequest], moment: datetime
) -> QuerySet[RequestComment]:
    """Return the notes on these requests since `moment`, oldest first."""
    notes = RequestComment.objects.filter(
        request__in=[request.pk for request in requests], at__gte=moment
    )
    return with_authors(notes).order_by("id")


def mentioned_in(text: str, request: ApprovalRequest, by: Actor) -> list[User]:
    """Return the people mentioned in a note who may see the request, without its author."""
    if "@" not in text:
        return []
    from approvals.text.markdown import names_in  # noqa: PLC0415 - loaded late

    names = names_in(text)
    if not names:
        return []
    people = (
        permissions.readers_of(request)
        .filter(username__in=names[: 3 * MAX_MENTIONS])
        .exclude(pk=by.pk)
    )
    return list(people.order_by("username")[:MAX_MENTIONS])


def people_to_mention(
    viewer: Standing, request: ApprovalRequest, text: str
) -> list[User]:
    """Return the people to suggest for a text after an @.

    People who see only their own requests cannot list users: they get only those involved in the request.
    """
    people = permissions.readers_of(request).exclude(pk=viewer.pk)
    if not permissions.sees_everything(viewer):
        people = people.filter(_involved(request))
    return list(people.filter(_is_named(text)).order_by("username")[:MAX_SUGGESTED])


def people_known_to(viewer: Standing, request: ApprovalRequest, text: str) -> list[str]:
    """Return suggested usernames for a form field: active people, as far as this person may know them."""
    people = User.objects.filter(is_active=True)
    if not permissions.sees_everything(viewer):
        people = people.filter(_involved(request) | Q(pk=viewer.pk))
    return usernames(people.filter(_is_named(text)), MAX_SUGGESTED)


def _is_named(text: str) -> Q:
    return Q(username__icontains=text) | Q(first_name__icontains=text)


def _involved(request: ApprovalRequest) -> Q:
    """Return the condition of people involved in a request."""
    wrote = RequestComment.objects.filter(request_id=request.pk, by_id=OuterRef("pk"))
    named = (request.requested_by_id, request.assigned_to_id, request.claimed_by_id)
    return Q(pk__in=[pk for pk in named if pk]) | Q(Exists(wrote))
