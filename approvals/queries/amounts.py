"""Ranges of amounts: a filter of requests and audit entries that uses an index for few matches, and scans the list for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from django.db import connections
from django.db.models import (
    BooleanField,
    ExpressionWrapper,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from approvals.models import ApprovalRequest, AuditEntry, SearchText
from approvals.queries.search_words import HIDDEN_AMOUNT, words_to_index

TABLE = AuditEntry._meta.db_table
#: Up to this many entries, or requests with the words of a search, are looked up and sorted; with more, the list is scanned.
FEW_ABOUT = 10_000
_LOOKUPS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte", "=": "exact"}
M = TypeVar("M", bound=Model)


def with_amounts(
    rows: QuerySet[M], bounds: Sequence[tuple[str, float]], *, each: bool | None = None
) -> tuple[QuerySet[M], bool]:
    """Filter requests or audit entries by bounds of the amount, as (operator, number); also return whether that scans them.

    Hidden amounts match nothing. As with words, query planners cannot choose: large amounts may all be old. Few matches are
    looked up, by the index of the audit log, in which each request has an entry with its amount. With many, and with
    `each=True`, the next match is near in any order, and COALESCE keeps the databases from using the index.
    """
    if not bounds:
        return rows, False
    condition = " AND ".join(f"a.amount {sign} %s" for sign, _bound in bounds)
    values = [bound for _sign, bound in bounds]
    connection = connections[rows.db]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM {TABLE} a WHERE {condition} LIMIT {FEW_ABOUT + 1}) AS matches",
            values,
        )
        few = not each and cursor.fetchone()[0] <= FEW_ABOUT
    if rows.model is ApprovalRequest:
        rows = rows.filter(has_visible_amount("pk"))
        for sign, bound in bounds:
            rows = rows.filter(**{f"amount__{_LOOKUPS[sign]}": bound})
        matching = f"SELECT a.request_id FROM {TABLE} a WHERE {condition}"
        return rows.filter(pk__in=RawSQL(matching, values)) if few else rows, not few  # noqa: S611 - constants and parameters
    rows = rows.filter(has_visible_amount("request_id"))
    matching = f"SELECT a.id FROM {TABLE} a WHERE {condition}"
    one_of = {
        "sqlite": f"{TABLE}.id IN ({matching})",
        "postgresql": f"{TABLE}.id = ANY(ARRAY({matching}))",
    }[connection.vendor]
    scan = f"COALESCE({condition.replace('a.amount', f'{TABLE}.amount')}, FALSE)"
    return rows.filter(
        RawSQL(one_of if few else scan, values, BooleanField())  # noqa: S611 - constants and parameters
    ), not few


def has_visible_amount(request: str) -> Coalesce:
    """Return whether the request of a row has no hidden amount; `request` is the column with its id."""
    hidden = words_to_index(facts=HIDDEN_AMOUNT)
    visible = ExpressionWrapper(~Q(words__contains=hidden), BooleanField())
    # A scalar subquery is evaluated only for rows that match otherwise.
    texts = SearchText.objects.filter(request=OuterRef(request)).values_list(visible)
    return Coalesce(Subquery(texts), True, output_field=BooleanField())
