"""The sections of the inbox: what expires soon, what is assigned to the reader, what else waits, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.queries import request_list
from approvals.queries.filters import OVER, Filters, ListCursor
from approvals.queries.request_list import BY_DEADLINES, MOST_URGENT, PAGE, Part

EXPIRING, MINE, WAITING, RECENT = "expiring", "mine", "waiting", "recent"
#: A deadline this near puts a request on top, whatever its priority.
SOON = timedelta(hours=1)
RECENT_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Sections:
    """The rows of a page by section, and the cursor of its next page."""

    rows: dict[str, list[ApprovalRequest]]
    after: ListCursor | None


def section_of(user: User, request: ApprovalRequest) -> str:
    """Return the section to which a request belongs for this person."""
    if not request.pending:
        return RECENT
    if request.deadline_at is not None and request.deadline_at <= timezone.now() + SOON:
        return EXPIRING
    return MINE if request.assigned_to_id == user.pk else WAITING


def sections_of(user: User, filters: Filters) -> Sections:
    """Return a page of waiting requests in sections. Only the first page has more than the section of what else waits."""
    soon = Q(deadline_at__lte=timezone.now() + SOON)
    rest = Q(deadline_at__isnull=True) | ~soon
    mine, others = Q(assigned_to=user.pk), Q(assigned_to__isnull=True) | ~Q(assigned_to=user.pk)
    waiting, after = request_list.page_of(user, filters, only=rest & others)
    found = {WAITING: waiting}
    if filters.after is None:
        expiring = Part(BY_DEADLINES[0].order, soon)
        found |= {
            EXPIRING: request_list.first_rows(user, filters, expiring, PAGE),
            MINE: request_list.first_rows(user, filters, Part(MOST_URGENT, rest & mine), PAGE),
        }
        if filters.plain:
            over = replace(filters, status=OVER)
            found[RECENT] = request_list.first_rows(user, over, request_list.parts_of(over)[0], RECENT_SHOWN)
    return Sections({name: found.get(name, []) for name in (EXPIRING, MINE, WAITING, RECENT)}, after)
