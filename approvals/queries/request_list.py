"""The requests in a person's inbox: filtered, sorted by an index, and paginated."""

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
from approvals.queries.filters import OVER, SPANS, WAITING, Filters, ListCursor
from approvals.queries.search import with_words
from approvals.runtime.cursors import number_from
from approvals.states import Status

PAGE = 50
RELATED = ("workflow", "decision", "requested_by", "assigned_to")
#: How many characters of an input and of a message a row reads.
GIST = 400
#: Columns that a row does not show, or shows only the beginning of.
HEAVY = ("message", "input", "response_schema", "options", "suggestions", "context", "default_response",
         "decision__answer", "decision__edited_input")  # fmt: skip
COLUMNS = {"agent": "agent", "tool": "tool_name", "workflow": "workflow_id"}


@dataclass(frozen=True, slots=True)
class Order:
    """A sort order within groups: the fields, all ascending or all descending, and their SQL `columns`."""

    fields: tuple[str, ...]
    columns: tuple[str, ...]


TABLE, DECIDED = ApprovalRequest._meta.db_table, Decision._meta.db_table
#: Waiting requests: most urgent first, then oldest first.
MOST_URGENT = Order(("urgency", "created_at", "id"), (f"{TABLE}.urgency", f"{TABLE}.created_at", f"{TABLE}.id"))
#: All other lists: latest change first.
LATEST = Order(("-changed_at", "-id"), (f"{TABLE}.changed_at", f"{TABLE}.id"))
#: One person's decisions, latest first, which have an index of their own.
DECISIONS = Order(
    ("-decision__decided_at", "-decision__request_id"), (f"{DECIDED}.decided_at", f"{DECIDED}.request_id")
)


def order_of(filters: Filters) -> Order:
    if filters.by and not filters.group:
        return DECISIONS
    return MOST_URGENT if filters.waiting else LATEST


def matching(user: User, filters: Filters) -> QuerySet[ApprovalRequest]:
    """Return the requests that the person may see and that match the filters, unsorted."""
    return _apply(queries.requests_for(user), user, filters)


def _sides(user: User, filters: Filters) -> list[QuerySet[ApprovalRequest]]:
    """Return the same as querysets that an index can sort.

    For people who see everything this is one queryset; for others, one of what they requested and one of what is assigned
    to them.
    """
    found = ApprovalRequest.objects.order_by()
    if not user.is_active:
        return [found.none()]
    if permissions.sees_everything(user):
        return [_apply(found, user, filters)]
    return [_apply(found.filter(**{side: user.pk}), user, filters) for side in ("requested_by", "assigned_to")]


def _apply(found: QuerySet[ApprovalRequest], user: User, filters: Filters) -> QuerySet[ApprovalRequest]:
    if filters.status in {WAITING, *(str(one) for one in Status)}:
        found = found.filter(status=filters.status)
    elif filters.status == OVER:
        found = found.exclude(status=Status.PENDING)
    exact = {
        "kind": filters.kind,
        "priority": filters.priority,
        "tool_name": filters.tool,
        "agent": filters.agent,
        "decision__by_name": filters.by,
    }
    found = found.filter(**{lookup: value for lookup, value in exact.items() if value})
    if filters.person:
        # Filter by id: it is in the index that also sorts the list.
        found = found.filter(
            requested_by=User.objects.filter(username=filters.person).values_list("pk", flat=True).first() or 0
        )
    if filters.mine:
        found = found.filter(assigned_to=user.pk)
    if filters.age:
        side, _, span = filters.age.partition("-")
        moment = timezone.now() - SPANS[span]
        found = found.filter(created_at__gt=moment) if side == "under" else found.filter(created_at__lte=moment)
    return with_words(found, filters.q) if filters.q else found


def page_of(user: User, filters: Filters) -> tuple[list[ApprovalRequest], ListCursor | None]:
    """Return one page, with `gist` and `opening` on each request, and the cursor of the next page or None."""
    order = [*([COLUMNS[filters.group]] if filters.group else []), *order_of(filters).fields]
    sides = [side.order_by(*order) for side in _sides(user, filters)]
    if filters.after is not None:
        sides = [side.filter(_after(side, filters, filters.after)) for side in sides]
    if len(sides) > 1:
        # The first page of the union consists of rows from the first page of each side.
        first = {pk for side in sides for pk in side.values_list("pk", flat=True)[: PAGE + 1]}
        sides = [ApprovalRequest.objects.filter(pk__in=first).order_by(*order)]
    rows = list(listed(sides[0].select_related(*RELATED))[: PAGE + 1])
    shown, more = rows[:PAGE], len(rows) > PAGE
    return shown, cursor_of(shown[-1], filters) if more else None


def listed(found: QuerySet[ApprovalRequest], *, whole: bool = False) -> QuerySet[ApprovalRequest]:
    """Annotate what a row shows: `gist` and `opening`, the beginnings of input and message.

    Columns that may be large are read only if `whole`.
    """
    beginnings = {
        name: Substr(F(column), 1, GIST, output_field=TextField())
        for name, column in (("gist", "input"), ("opening", "message"))
    }
    return (found if whole else found.defer(*HEAVY)).annotate(**beginnings)


def count_of(user: User, filters: Filters) -> int:
    """Return how many requests match, at most `queries.COUNT_LIMIT`."""
    asked, *assigned = _sides(user, filters)
    # Count a request that is assigned to its requester only once.
    sides = [asked, *(side.exclude(requested_by=user.pk) for side in assigned)]
    return min(sum(queries.capped_count(side) for side in sides), queries.COUNT_LIMIT)


def cursor_of(request: ApprovalRequest, filters: Filters) -> ListCursor:
    """Return the cursor of a request in the list."""
    moment = request.created_at if filters.waiting else request.changed_at
    if order_of(filters) is DECISIONS:
        moment = request.decision.decided_at
    group = str(getattr(request, COLUMNS[filters.group])) if filters.group else ""
    return ListCursor(request.urgency if filters.waiting else 0, moment, request.pk, group)


def _after(found: QuerySet[ApprovalRequest], filters: Filters, cursor: ListCursor) -> Any:
    """Return a condition for the rows after a cursor: a row comparison, for which both databases use the index."""
    operations = connections[found.db].ops
    values: list[Any] = [cursor.urgency] if filters.waiting else []
    values.append(operations.adapt_datetimefield_value(cursor.moment))
    values.append(cursor.pk.hex if connections[found.db].vendor == "sqlite" else cursor.pk)
    sign, columns = ">" if filters.waiting else "<", ", ".join(order_of(filters).columns)
    parameters = ", ".join(["%s"] * len(values))
    after = RawSQL(f"({columns}) {sign} ({parameters})", values, BooleanField())  # noqa: S611 - column names, parameters
    if not filters.group:
        return Q(after)
    column = COLUMNS[filters.group]
    reached: Any = cursor.group
    if filters.group == "workflow":
        reached = number_from(reached) or 0
    return Q(**{f"{column}__gte": reached}) & (Q(**{f"{column}__gt": reached}) | Q(after))
