"""Input schemas for a list, read with its rows and only if they describe values."""

from __future__ import annotations

import json
from functools import lru_cache

from django.db.models import Case, F, Q, TextField, Value, When
from django.db.models.functions import Length, Substr
from django.db.models.lookups import Contains, LessThanOrEqual

from approvals.json_types import JsonMapping
from approvals.schema.keywords import CURRENCY
from approvals.states import ASKS

#: Longer schemas are not read for a list: the row then shows its values unformatted.
MAX_SCHEMA = 4_000


def description() -> Case:
    """Return the schema of an input as text; empty if it is long, is about an answer, or contains no known formats."""
    text = Substr(F("response_schema"), 1, MAX_SCHEMA + 1, output_field=TextField())
    says = Q(Contains(text, '"format"')) | Q(Contains(text, f'"{CURRENCY}"'))
    of_input = ~Q(kind__in=ASKS) & Q(LessThanOrEqual(Length(text), MAX_SCHEMA)) & says
    return Case(When(of_input, then=text), default=Value(""), output_field=TextField())


@lru_cache(maxsize=100)
def read_schema(description: str) -> JsonMapping | None:
    """Return the schema read by `description`; None if there is none. It is shared: do not change it."""
    schema: JsonMapping | None = json.loads(description) if description else None
    return schema
