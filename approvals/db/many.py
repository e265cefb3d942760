"""Compare a column with many values through one parameter: a list of hundreds takes longer to compile than to run."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import TextField
from django.db.models.expressions import RawSQL

from approvals.db.prepared import Parameter

_POSTGRESQL = {int: "SELECT unnest(%s::bigint[]) AS value", str: "SELECT unnest(%s::text[]) AS value"}


def any_of(values: Collection[int] | Collection[str] | Parameter, kind: type[int] | type[str]) -> RawSQL:
    """Return a subquery with these values, for `filter(column__in=any_of(values, str))`; there may be none.

    Its column is called `value`. In a prepared query, `values` is a `Parameter` of `Values`.
    """
    held = values if isinstance(values, Parameter) else Values().get_db_prep_value(values, connection)
    if connection.vendor == "postgresql":
        return RawSQL(_POSTGRESQL[kind], [held])  # noqa: S611 - a constant and a parameter
    return RawSQL("SELECT value FROM json_each(%s)", [held])


class Values(TextField):  # type: ignore[type-arg]
    """Many values as the database takes them in one parameter."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        items = list(value)
        return items if connection.vendor == "postgresql" else json.dumps(items)
