"""Compare a column with many values through one parameter: a list of hundreds takes longer to compile than to run."""

from __future__ import annotations

import json
from collections.abc import Collection

from django.db import connection
from django.db.models.expressions import RawSQL

_POSTGRESQL = {int: "SELECT unnest(%s::bigint[])", str: "SELECT unnest(%s::text[])"}


def any_of(values: Collection[int] | Collection[str], kind: type[int] | type[str]) -> RawSQL:
    """Return a subquery with these values, for `filter(column__in=any_of(values, str))`; there may be none."""
    items = list(values)
    if connection.vendor == "postgresql":
        return RawSQL(_POSTGRESQL[kind], [items])  # noqa: S611 - a constant and a parameter
    return RawSQL("SELECT value FROM json_each(%s)", [json.dumps(items)])
