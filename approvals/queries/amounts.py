"""Ranges of amounts: a filter of audit entries that uses the index for few matches, and scans the list for many."""

from __future__ import annotations

from django.db import connections
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from approvals.models import AuditEntry
from approvals.queries.search import FEW_ABOUT

TABLE = AuditEntry._meta.db_table


def with_amounts(
    entries: QuerySet[AuditEntry], least: float | None, most: float | None
) -> tuple[QuerySet[AuditEntry], bool]:
    """Filter for entries with an amount from `least` to `most`, both included; also return whether that scans them.

    As with words, query planners cannot choose: large amounts may all be old. Up to FEW_ABOUT entries are looked up and sorted;
    with more, the next match is near in any order, and COALESCE keeps the databases from using the index.
    """
    bounds = [
        (sign, bound)
        for sign, bound in ((">=", least), ("<=", most))
        if bound is not None
    ]
    if not bounds:
        return entries, False
    condition = " AND ".join(f"a.amount {sign} %s" for sign, _bound in bounds)
    values = [bound for _sign, bound in bounds]
    matching = f"SELECT a.id FROM {TABLE} a WHERE {condition}"
    connection = connections[entries.db]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM ({matching} LIMIT {FEW_ABOUT + 1}) AS found", values
        )
        few = cursor.fetchone()[0] <= FEW_ABOUT
    if few:
        one_of = {
            "sqlite": f"IN ({matching})",
            "postgresql": f"= ANY(ARRAY({matching}))",
        }[connection.vendor]
        is_one = RawSQL(f"{TABLE}.id {one_of}", values, BooleanField())  # noqa: S611
        return entries.filter(is_one), False
    scan = f"COALESCE({condition.replace('a.amount', f'{TABLE}.amount')}, FALSE)"
    return entries.filter(RawSQL(scan, values, BooleanField())), True  # noqa: S611 - constants and parameters
