"""The first rows of the union of what a person sees for several reasons, each reason read by an index of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from approvals.access import scopes
from approvals.access.permissions import Person
from approvals.models import ApprovalRequest

#: Stands in a side for one of the person's scope sets.
SCOPE_SET = "scope_sets.id"
#: With more scope sets than this, a list is read in its own order, in which the next row in scope is near.
FEW = 16


def in_scope_set(user: Person) -> Q:
    """Return the condition of requests in the scope sets of a person, for a side of `first_of`."""
    scope_sets = scopes.scope_sets_of(user)
    if len(scope_sets) > FEW:
        # As constants, of which the planner knows how many rows each has.
        return Q(scope_set__in=scope_sets)
    return Q(scope_set=RawSQL(SCOPE_SET, []))  # noqa: S611 - a constant


def first_of(user: Person, sides: Sequence[QuerySet[ApprovalRequest]], order: Sequence[str], limit: int) -> list[Any]:
    """Return the keys of the first rows of the union of these sides, each read by its index; the order ends with the key."""
    connection, statements, parameters = connections[sides[0].db], list[str](), list[Any]()
    for number, side in enumerate(sides):
        try:
            first = side.values_list(*(name.removeprefix("-") for name in order))[:limit]
            sql, values = first.query.get_compiler(connection=connection).as_sql()
        except EmptyResultSet:
            continue
        for each, more in _each_scope_set(user, sql, connection.vendor) if SCOPE_SET in sql else [(f"({sql})", [])]:
            statements.append(f"SELECT side_{number}.* FROM {each} AS side_{number}")
            parameters += [*more, *values]
    if not statements:
        return []
    directions = ", ".join(f"{place} {'DESC' if name[0] == '-' else 'ASC'}" for place, name in enumerate(order, 1))
    with connection.cursor() as cursor:
        # Without duplicates: a row may be on several sides.
        cursor.execute(f"{' UNION '.join(statements)} ORDER BY {directions} LIMIT {limit}", parameters)
        return [row[-1] for row in cursor.fetchall()]


def _each_scope_set(user: Person, sql: str, vendor: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of each scope set of a person, each by the index that begins with it; PostgreSQL plans them once."""
    scope_sets = scopes.scope_sets_of(user)
    if vendor == "postgresql":
        yield f"unnest(%s::bigint[]) AS scope_sets(id) CROSS JOIN LATERAL ({sql})", [scope_sets]
    else:
        for scope_set in scope_sets:
            yield f"({sql.replace(SCOPE_SET, str(scope_set))})", []
