"""The list of requests as one person sees it through a lens: found by indexes, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import connections
from django.db.models import BooleanField, F, Q, QuerySet, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Substr
from django.utils import timezone

from approvals import queries
from approvals.access import permissions
from approvals.models import ApprovalRequest, Decision
from approvals.queries.filters import OVER, SPANS, WAITING, Lens
from approvals.queries.inbox_cursor import Spot
from approvals.queries.search import with_words
from approvals.states import Status

PAGE = 50
RELATED = ("workflow", "decision", "requested_by", "assigned_to")
#: Characters of an input and of a message that a row shows.
GIST = 400
#: What a row shows nothing of, or too much to read it whole.
HEAVY = ("message", "input", "response_schema", "options", "suggestions", "context", "default_response",
         "decision__answer", "decision__edited_input")  # fmt: skip
COLUMNS = {"agent": "agent", "tool": "tool_name", "workflow": "workflow_id"}


@dataclass(frozen=True, slots=True)
class Order:
    """How a list is sorted: within its groups by these fields, all upwards or all downwards; `columns` as SQL has them."""

    fields: tuple[str, ...]
    columns: tuple[str, ...]


TABLE, DECIDED = ApprovalRequest._meta.db_table, Decision._meta.db_table
#: What waits: the most urgent and oldest first.
WAITS = Order(("urgency", "created_at", "id"), (f"{TABLE}.urgency", f"{TABLE}.created_at", f"{TABLE}.id"))
#: All else: what has happened last first.
LATEST = Order(("-changed_at", "-id"), (f"{TABLE}.changed_at", f"{TABLE}.id"))
#: The same for one person's decisions, as their own index has it.
DECISIONS = Order(
    ("-decision__decided_at", "-decision__request_id"), (f"{DECIDED}.decided_at", f"{DECIDED}.request_id")
)


def order_of(lens: Lens) -> Order:
    if lens.by and not lens.group:
        return DECISIONS
    return WAITS if lens.waiting else LATEST


def matching(user: User, lens: Lens) -> QuerySet[ApprovalRequest]:
    """All that the lens lets through of what this person may see, in no order."""
    return _narrowed(queries.requests_for(user), user, lens)


def _sides(user: User, lens: Lens) -> list[QuerySet[ApprovalRequest]]:
    """The same in parts that an index gives in order: all of it, or what this person asked and what is assigned to them."""
    found = ApprovalRequest.objects.order_by()
    if not user.is_active:
        return [found.none()]
    if permissions.sees_everything(user):
        return [_narrowed(found, user, lens)]
    return [_narrowed(found.filter(**{side: user.pk}), user, lens) for side in ("requested_by", "assigned_to")]


def _narrowed(found: QuerySet[ApprovalRequest], user: User, lens: Lens) -> QuerySet[ApprovalRequest]:
    if lens.status in {WAITING, *(str(one) for one in Status)}:
        found = found.filter(status=lens.status)
    elif lens.status == OVER:
        found = found.exclude(status=Status.PENDING)
    exact = {
        "kind": lens.kind,
        "priority": lens.priority,
        "tool_name": lens.tool,
        "agent": lens.agent,
        "decision__by_name": lens.by,
    }
    found = found.filter(**{lookup: value for lookup, value in exact.items() if value})
    if lens.person:
        # By number, which stands in an index beside the order of the list.
        found = found.filter(
            requested_by=User.objects.filter(username=lens.person).values_list("pk", flat=True).first() or 0
        )
    if lens.mine:
        found = found.filter(assigned_to=user.pk)
    if lens.age:
        side, _, span = lens.age.partition("-")
        moment = timezone.now() - SPANS[span]
        found = found.filter(created_at__gt=moment) if side == "under" else found.filter(created_at__lte=moment)
    return with_words(found, lens.q) if lens.q else found


def page_of(user: User, lens: Lens) -> tuple[list[ApprovalRequest], Spot | None]:
    """One page of the list, each row with `gist` and `opening`, and where the next one begins; None if this is the last."""
    order = [*([COLUMNS[lens.group]] if lens.group else []), *order_of(lens).fields]
    sides = [side.order_by(*order) for side in _sides(user, lens)]
    if lens.after is not None:
        sides = [side.filter(_beyond(side, lens, lens.after)) for side in sides]
    if len(sides) > 1:
        # The first of either side are the first of both, and each side stops after a page.
        first = {pk for side in sides for pk in side.values_list("pk", flat=True)[: PAGE + 1]}
        sides = [ApprovalRequest.objects.filter(pk__in=first).order_by(*order)]
    rows = list(listed(sides[0].select_related(*RELATED))[: PAGE + 1])
    shown, more = rows[:PAGE], len(rows) > PAGE
    return shown, spot_of(shown[-1], lens) if more else None


def listed(found: QuerySet[ApprovalRequest], *, whole: bool = False) -> QuerySet[ApprovalRequest]:
    """With what a row shows: `gist` and `opening` are beginnings of input and message; what may be large only if `whole`."""
    beginnings = {
        name: Substr(F(column), 1, GIST, output_field=TextField())
        for name, column in (("gist", "input"), ("opening", "message"))
    }
    return (found if whole else found.defer(*HEAVY)).annotate(**beginnings)


def count_of(user: User, lens: Lens) -> int:
    """How many there are through this lens, up to `queries.COUNT_LIMIT`."""
    asked, *assigned = _sides(user, lens)
    # What is assigned to who asked it counts once.
    sides = [asked, *(side.exclude(requested_by=user.pk) for side in assigned)]
    return min(sum(queries.capped_count(side) for side in sides), queries.COUNT_LIMIT)


def spot_of(request: ApprovalRequest, lens: Lens) -> Spot:
    """Where a row stands in the list."""
    moment = request.created_at if lens.waiting else request.changed_at
    if order_of(lens) is DECISIONS:
        moment = request.decision.decided_at
    group = str(getattr(request, COLUMNS[lens.group])) if lens.group else ""
    return Spot(request.urgency if lens.waiting else 0, moment, request.pk, group)


def _beyond(found: QuerySet[ApprovalRequest], lens: Lens, spot: Spot) -> Any:
    """The rows after a place, as a comparison of rows, which both databases look up in the index of that order."""
    operations = connections[found.db].ops
    values: list[Any] = [spot.urgency] if lens.waiting else []
    values.append(operations.adapt_datetimefield_value(spot.moment))
    values.append(spot.pk.hex if connections[found.db].vendor == "sqlite" else spot.pk)
    sign, columns = ">" if lens.waiting else "<", ", ".join(order_of(lens).columns)
    places = ", ".join(["%s"] * len(values))
    after = RawSQL(f"({columns}) {sign} ({places})", values, BooleanField())  # noqa: S611 - names of columns, and parameters
    if not lens.group:
        return Q(after)
    column = COLUMNS[lens.group]
    reached: Any = spot.group
    if lens.group == "workflow":
        reached = int(reached) if reached.isascii() and reached.isdecimal() and len(reached) < 19 else 0
    return Q(**{f"{column}__gte": reached}) & (Q(**{f"{column}__gt": reached}) | Q(after))
