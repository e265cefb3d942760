"""Compare a column with many values in one parameter: a list of hundreds takes longer to compile than to run."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL

from approvals.db.prepared import Parameter, Values

_POSTGRESQL = {
    int: "SELECT unnest(%s::bigint[]) AS value",
    str: "SELECT unnest(%s::text[]) AS value",
    UUID: "SELECT unnest(%s::uuid[]) AS value",
}


def any_of(
    values: Collection[int] | Collection[str] | Parameter,
    kind: type[int] | type[str] | type[UUID],
) -> RawSQL:
    """Return a subquery with these values (possibly none), for `filter(column__in=any_of(values, str))`.

    UUIDs are given by their `hex`, as SQLite stores them.

    Its column is called `value`. In a prepared query, `values` is a `Parameter` of `Values`.
    """
    held = (
        values
        if isinstance(values, Parameter)
        else Values().get_db_prep_value(values, connection)
    )
    if connection.vendor == "postgresql":
        return RawSQL(_POSTGRESQL[kind], [held])  # noqa: S611 - a constant and a parameter
    return RawSQL("SELECT value FROM json_each(%s)", [held])
