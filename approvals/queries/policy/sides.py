"""The first rows of the union of what a person sees for several reasons, each reason read by an index of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import QuerySet

from approvals.access import scopes
from approvals.models import ApprovalRequest

#: Stands in a side for one of the person's audiences.
AUDIENCE = "audiences.id"
#: A statement of SQLite has at most so many sides; with more audiences, several share one.
MAX_SIDES = 400


def first_of(user: User, sides: Sequence[QuerySet[ApprovalRequest]], order: Sequence[str], limit: int) -> list[Any]:
    """Return the keys of the first rows of the union of these sides, each read by its index; the order ends with the key."""
    connection, statements, parameters = connections[sides[0].db], list[str](), list[Any]()
    for number, side in enumerate(sides):
        try:
            first = side.values_list(*(name.removeprefix("-") for name in order))[:limit]
            sql, values = first.query.get_compiler(connection=connection).as_sql()
        except EmptyResultSet:
            continue
        for each, more in _each_audience(user, sql, connection.vendor) if AUDIENCE in sql else [(f"({sql})", [])]:
            statements.append(f"SELECT side_{number}.* FROM {each} AS side_{number}")
            parameters += [*more, *values]
    if not statements:
        return []
    directions = ", ".join(f"{place} {'DESC' if name[0] == '-' else 'ASC'}" for place, name in enumerate(order, 1))
    with connection.cursor() as cursor:
        # Without duplicates: a row may be on several sides.
        cursor.execute(f"{' UNION '.join(statements)} ORDER BY {directions} LIMIT {limit}", parameters)
        return [row[-1] for row in cursor.fetchall()]


def _each_audience(user: User, sql: str, vendor: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows of each audience of a person, each by the index that begins with it; PostgreSQL plans them once."""
    audiences = scopes.audiences_of(user)
    if vendor == "postgresql":
        yield f"unnest(%s::bigint[]) AS audiences(id) CROSS JOIN LATERAL ({sql})", [audiences]
    else:
        share = -(-len(audiences) // MAX_SIDES)
        for start in range(0, len(audiences), share):
            some = ", ".join(map(str, audiences[start : start + share]))
            yield f"({sql.replace(f'= ({AUDIENCE})', f'IN ({some})')})", []
