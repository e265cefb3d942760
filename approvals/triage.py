"""The list of requests as one person sees it through a lens: found by indexes, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import connections
from django.db.models import BooleanField, F, Q, QuerySet, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Substr
from django.utils import timezone

from approvals import queries
from approvals.lenses import ANY, OVER, SPANS, WAITING, Lens
from approvals.models import ApprovalRequest
from approvals.searching import with_words
from approvals.spots import Spot
from approvals.states import Status

PAGE = 50
#: Characters of an input and of a message that a row shows.
GIST = 400
#: What a row shows nothing of, or too much to read it whole.
HEAVY = ("message", "input", "response_schema", "options", "suggestions", "context", "default_response",
         "decision__answer", "decision__edited_input")  # fmt: skip
COLUMNS = {"agent": "agent", "tool": "tool_name", "workflow": "workflow_id"}


@dataclass(frozen=True, slots=True)
class Order:
    """How a list is sorted: within its groups by these columns, all upwards or all downwards."""

    columns: tuple[str, ...]
    down: bool = False

    @property
    def fields(self) -> list[str]:
        return [f"-{column}" if self.down else column for column in self.columns]


def order_of(lens: Lens) -> Order:
    """What waits by urgency and age, what is decided by when, and both together by when they were asked."""
    if lens.waiting:
        return Order(("urgency", "created_at", "id"))
    return Order(("created_at" if lens.status == ANY else "changed_at", "id"), down=True)


def matching(user: User, lens: Lens) -> QuerySet[ApprovalRequest]:
    """All that the lens lets through of what this person may see, in no order."""
    found = queries.requests_for(user)
    if lens.status in {WAITING, *(str(one) for one in Status)}:
        found = found.filter(status=lens.status)
    elif lens.status == OVER:
        found = found.exclude(status=Status.PENDING)
    exact = {
        "kind": lens.kind,
        "priority": lens.priority,
        "tool_name": lens.tool,
        "agent": lens.agent,
        "requested_by__username": lens.person,
        "decision__by_name": lens.by,
    }
    found = found.filter(**{lookup: value for lookup, value in exact.items() if value})
    if lens.mine:
        found = found.filter(assigned_to=user.pk)
    if lens.age:
        side, _, span = lens.age.partition("-")
        moment = timezone.now() - SPANS[span]
        found = found.filter(created_at__gt=moment) if side == "under" else found.filter(created_at__lte=moment)
    return with_words(found, lens.q) if lens.q else found


def page_of(user: User, lens: Lens) -> tuple[list[ApprovalRequest], Spot | None]:
    """One page of the list, each row with `gist` and `words`, and where the next one begins; None if this is the last."""
    order = order_of(lens)
    group = [COLUMNS[lens.group]] if lens.group else []
    found = listed(matching(user, lens)).order_by(*group, *order.fields)
    if lens.after is not None:
        found = found.filter(_beyond(found, lens, order, lens.after))
    rows = list(found[: PAGE + 1])
    shown, more = rows[:PAGE], len(rows) > PAGE
    return shown, spot_of(shown[-1], lens) if more else None


def listed(found: QuerySet[ApprovalRequest], *, whole: bool = False) -> QuerySet[ApprovalRequest]:
    """With what a row shows: `gist` and `words` are beginnings of input and message; what may be large only if `whole`."""
    beginnings = {
        name: Substr(F(column), 1, GIST, output_field=TextField())
        for name, column in (("gist", "input"), ("words", "message"))
    }
    return (found if whole else found.defer(*HEAVY)).annotate(**beginnings)


def count_of(user: User, lens: Lens) -> int:
    """How many there are through this lens, up to `queries.COUNT_LIMIT`."""
    return queries.capped_count(matching(user, lens))


def spot_of(request: ApprovalRequest, lens: Lens) -> Spot:
    """Where a row stands in the list."""
    column = order_of(lens).columns[-2]
    moment: datetime = getattr(request, column)
    group = str(getattr(request, COLUMNS[lens.group])) if lens.group else ""
    return Spot(request.urgency if lens.waiting else 0, moment, request.pk, group)


def _beyond(found: QuerySet[ApprovalRequest], lens: Lens, order: Order, spot: Spot) -> Any:
    """The rows after a place, as a comparison of rows, which both databases look up in the index of that order."""
    operations = connections[found.db].ops
    values: list[Any] = [spot.urgency] if lens.waiting else []
    values.append(operations.adapt_datetimefield_value(spot.moment))
    values.append(spot.pk.hex if connections[found.db].vendor == "sqlite" else spot.pk)
    table = ApprovalRequest._meta.db_table
    columns = ", ".join(f'"{table}"."{column}"' for column in order.columns)
    sign = "<" if order.down else ">"
    places = ", ".join(["%s"] * len(values))
    after = RawSQL(f"({columns}) {sign} ({places})", values, BooleanField())  # noqa: S611 - names of columns, and parameters
    if not lens.group:
        return Q(after)
    column = COLUMNS[lens.group]
    reached: Any = spot.group
    if lens.group == "workflow":
        reached = int(reached) if reached.isascii() and reached.isdecimal() and len(reached) < 19 else 0
    return Q(**{f"{column}__gte": reached}) & (Q(**{f"{column}__gt": reached}) | Q(after))
