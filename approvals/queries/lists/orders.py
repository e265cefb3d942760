"""Sort orders of the lists of requests, each with an index."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter

from django.db.models import Q

from approvals.models import ApprovalRequest, Decision
from approvals.queries.filters import BY_DEADLINE, NEWEST, OLDEST, Filters


@dataclass(frozen=True, slots=True)
class Order:
    """A sort order within groups: the fields, all ascending or all descending, and their SQL `columns`.

    If `indexed`, there is an index for each reason to see a request (`policy.sides`) that begins with the reason's column and
    continues in this order.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...]
    indexed: bool = False

    @property
    def descends(self) -> bool:
        return self.fields[0].startswith("-")

    def time_of(self, request: ApprovalRequest) -> datetime:
        """Return the time by which this order sorts a request."""
        moment: datetime = attrgetter(
            self.fields[-2].removeprefix("-").replace("__", ".")
        )(request)
        return moment


TABLE = ApprovalRequest._meta.db_table
DECIDED = Decision._meta.db_table
#: Waiting requests: most urgent first, then oldest first.
MOST_URGENT = Order(
    ("urgency", "created_at", "id"),
    (f"{TABLE}.urgency", f"{TABLE}.created_at", f"{TABLE}.id"),
    indexed=True,
)
FIRST = Order(("created_at", "id"), (f"{TABLE}.created_at", f"{TABLE}.id"))
LAST = Order(("-created_at", "-id"), FIRST.columns)
DUE = Order(("deadline_at", "id"), (f"{TABLE}.deadline_at", f"{TABLE}.id"))
#: All other lists: latest change first.
LATEST = Order(
    ("-changed_at", "-id"), (f"{TABLE}.changed_at", f"{TABLE}.id"), indexed=True
)
#: One person's decisions, latest first, which have an index of their own.
DECISIONS = Order(
    ("-decision__decided_at", "-decision__request_id"),
    (f"{DECIDED}.decided_at", f"{DECIDED}.request_id"),
)


@dataclass(frozen=True, slots=True)
class SortedPart:
    """A part of a list that one index sorts: the rows that match `rows`, in this order."""

    order: Order
    rows: Q = field(default_factory=Q)


#: By deadline: first requests with one, then the rest, oldest first.
BY_DEADLINES = (
    SortedPart(DUE, Q(deadline_at__isnull=False)),
    SortedPart(FIRST, Q(deadline_at__isnull=True)),
)


def parts_of(filters: Filters) -> tuple[SortedPart, ...]:
    """Return the parts of a list, one after another."""
    if filters.by and not filters.group:
        return (SortedPart(DECISIONS),)
    if not filters.waiting:
        return (SortedPart(LATEST),)
    if filters.sort == BY_DEADLINE:
        return BY_DEADLINES
    return (SortedPart({NEWEST: LAST, OLDEST: FIRST}.get(filters.sort, MOST_URGENT)),)
