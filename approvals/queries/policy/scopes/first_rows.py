"""The first rows for viewers with a limited view: for each reason to see a request, a few rows sorted by an index."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from approvals.access.standing import Standing
from approvals.db.literal import literal
from approvals.db.many import any_of
from approvals.db.prepared import Parameter
from approvals.models import ApprovalRequest
from approvals.states import Status

#: Reasons to see a request: its requester, its assignee, or a matching scope. Each is also the column.
REQUESTED, ASSIGNED, IN_SCOPE = REASONS = "requested_by", "assigned_to", "scope_set"
#: Placeholder in a side for one of the person's scope sets.
_SCOPE_SET = "scope_sets.value"


@dataclass(frozen=True, slots=True)
class Reader:
    """The reader of a list: the ids of a person and of their scope sets, or the parameters of a prepared query."""

    person: int | Parameter | None
    scope_sets: Collection[int] | Parameter

    def rows(self, reason: str) -> Q:
        """Return the condition of the requests that this person sees for a reason."""
        return (
            Q(scope_set__in=any_of(self.scope_sets, int))
            if reason == IN_SCOPE
            else Q(**{reason: self.person})
        )

    @property
    def reasons(self) -> Sequence[str]:
        """The reasons for which this person sees requests."""
        return REASONS if self.scope_sets else (REQUESTED, ASSIGNED)

    @property
    def all_rows(self) -> Q:
        """The condition of the requests that this person sees for any reason."""
        return functools.reduce(operator.or_, map(self.rows, self.reasons))


def reader(viewer: Standing) -> Reader:
    return Reader(viewer.pk, viewer.scope_sets)


def first_of(
    requests: QuerySet[ApprovalRequest],
    who: Reader,
    order: Sequence[str],
    limit: int,
    *,
    waiting: bool,
    reasons: Sequence[str] | None = None,
    indexed: bool = True,
) -> Q:
    """Return the condition of the first of these requests that someone sees, for any reason or for these.

    With `waiting`, only waiting ones. The order ends with the key. `indexed`: for each reason, an index begins with its column
    and continues in this order.
    """
    connection = connections[requests.db]
    columns = [f"column_{number}" for number in range(len(order))]
    statements = list[str]()
    parameters = list[Any]()
    for reason in who.reasons if reasons is None else reasons:
        rows, lead = _side(who, reason, waiting=waiting, indexed=indexed)
        side = (
            requests.filter(rows)
            .order_by(*lead, *order)
            .values_list(*(name.removeprefix("-") for name in order))
        )

        def first(number: int, side: QuerySet[Any] = side) -> tuple[str, Sequence[Any]]:
            return side[:number].query.get_compiler(connection=connection).as_sql()  # type: ignore[no-any-return]

        try:
            if reason == IN_SCOPE:
                sql, values = _of_scope_sets(
                    who, first(1), first(limit), order, limit, connection.vendor
                )
            else:
                sql, values = first(limit)
        except EmptyResultSet:
            continue
        statements.append(f"SELECT * FROM ({sql}) AS {reason}")
        parameters += values
    if not statements:
        return Q(pk__in=[])
    # Without duplicates: a row may be on several sides.
    union = " UNION ".join(statements)
    page = f"WITH page({', '.join(columns)}) AS ({union} ORDER BY {_directions(order)} LIMIT {limit})"
    return Q(pk__in=RawSQL(f"{page} SELECT {columns[-1]} FROM page", parameters))  # noqa: S611 - compiled statements


def _side(
    who: Reader, reason: str, *, waiting: bool, indexed: bool
) -> tuple[Q, Sequence[str]]:
    """Return the condition of the rows for one reason, and the sort columns that precede the list's order.

    If there is an index, the rows are sorted first by a column with one value in all of them, compared by range. Only the index
    that begins with it has this order. With an equality, the column would not be part of the order, and PostgreSQL might walk
    along an index of all requests, to its end for people who have none of them.
    """
    value: Any = RawSQL(_SCOPE_SET, []) if reason == IN_SCOPE else who.person  # noqa: S611 - a constant
    pending = literal(Status.PENDING)
    if not indexed:
        return Q(**{reason: value}) & (Q(status=pending) if waiting else Q()), ()
    if waiting and reason == REQUESTED:
        # The only one of these indexes that also holds ended requests, with the status in between.
        return Q(requested_by=value, status__gte=pending, status__lte=pending), (
            "status",
        )
    rows = Q(**{f"{reason}__gte": value, f"{reason}__lte": value})
    return rows & (Q(status=pending) if waiting else Q()), (f"{reason}_id",)


def _of_scope_sets(
    who: Reader,
    head: tuple[str, Sequence[Any]],
    side: tuple[str, Sequence[Any]],
    order: Sequence[str],
    limit: int,
    vendor: str,
) -> tuple[str, Sequence[Any]]:
    """Return the statement of the first rows in all scope sets, from the first row and the first rows of each.

    The overall first rows are in the scope sets whose own first rows come first, so at most `limit` scope sets matter.
    """
    every = any_of(who.scope_sets, int)
    columns, rows = _for_each(every.sql, head[0], len(order), vendor)
    near = f"SELECT scope_sets.value, {columns} FROM {rows} ORDER BY {_directions(order, after=1)} LIMIT {limit}"
    columns, rows = _for_each(near, side[0], len(order), vendor)
    return f"SELECT {columns} FROM {rows}", [*every.params, *head[1], *side[1]]


def _for_each(scope_sets: str, sql: str, width: int, vendor: str) -> tuple[str, str]:
    """Return the columns and the tables of a statement that has the rows of `sql` for each of the scope sets."""
    if vendor == "postgresql":
        return (
            "side.*",
            f"({scope_sets}) AS scope_sets CROSS JOIN LATERAL ({sql}) AS side",
        )
    # SQLite has no LATERAL, but a table-valued function may depend on the tables before it.
    names = ", ".join(f"column_{place}" for place in range(width))
    rows = f"WITH side({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM side"
    columns = ", ".join(
        f"json_extract(side.value, '$[{place}]')" for place in range(width)
    )
    return columns, f"({scope_sets}) AS scope_sets, json_each(({rows})) AS side"


def _directions(order: Sequence[str], *, after: int = 0) -> str:
    """Return the sort directions of this order's columns, which come after others."""
    return ", ".join(
        f"{place + after} {'DESC' if name[0] == '-' else 'ASC'}"
        for place, name in enumerate(order, 1)
    )
