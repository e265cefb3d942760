"""Claims and assignments of waiting requests, and a viewer's actions on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest

#: A claim lapses after this time without activity of its owner.
LAPSES = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The context of `approvals/people/_assignee.html`. `name` is empty if no one has claimed the request."""

    name: str = ""
    mine: bool = False
    lapses_at: datetime | None = None
    assigned: str = ""
    #: The display names of `name` and `assigned`.
    display: str | None = None
    assigned_display: str = ""
    assigned_to_me: bool = False
    may_take: bool = False
    version: str = ""
    refusal: str = ""


NOBODY = Holder()


def claimant(request: ApprovalRequest, now: datetime) -> int | None:
    """Return the id of the user with the current claim; None if there is none or it has lapsed."""
    at = request.claimed_at
    return request.claimed_by_id if at is not None and at > now - LAPSES else None


def assignee_name(request: ApprovalRequest) -> str:
    return request.assigned_to.get_username() if request.assigned_to else ""


def holder_for(
    viewer: Standing, request: ApprovalRequest, *, refusal: str = ""
) -> Holder:
    held = claimant(request, timezone.now()) if request.pending else None
    at = request.claimed_at if held is not None else None
    return Holder(
        name=request.claimed_name if held is not None else "",
        mine=held == viewer.pk,
        lapses_at=at + LAPSES if at else None,
        assigned=assignee_name(request),
        display=request.claimed_display,
        assigned_display=request.assigned_to.first_name if request.assigned_to else "",
        assigned_to_me=request.assigned_to_id is not None
        and request.assigned_to_id == viewer.pk,
        may_take=request.pending and permissions.may_close(viewer, request),
        version=f"{request.status}-{held}-{at.timestamp() if at else ''}-{request.assigned_to_id}",
        refusal=refusal,
    )
