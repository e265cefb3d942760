"""Every list of the desk as the query behind it, and how the database goes about each."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet

from approvals import queries
from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.queries import COUNT_LIMIT, PAGE
from approvals.queries.audit import entries_for
from approvals.queries.audit_filters import AuditFilters
from approvals.queries.workflow_list import ENDED, SUSPENDED, cursor_of

#: A read of a whole table, as PostgreSQL and SQLite say it; U0 is the table of a subquery.
SCAN = re.compile(
    r"Seq Scan on ((?:approvals|chats)_\w+)|SCAN ((?:approvals|chats)_\w+|U\d+)\b(?! USING| VIRTUAL)"
)


def lists(decider: User, owner: User) -> dict[str, QuerySet[Any]]:
    """By name; `decider` sees everything, `owner` has asked for some of it."""
    viewer, asker = standing_of(decider), standing_of(owner)
    waiting, ended = (
        queries.suspended_workflows_for(viewer),
        queries.ended_workflows_for(viewer),
    )
    every = ApprovalRequest.objects.order_by("-created_at", "-id")
    middle = every[every.count() // 2]
    deep_waiting = waiting[waiting.count() // 2]
    deep_ended = ended[ended.count() // 2]
    cursor = queries.RequestCursor(middle.created_at, middle.pk)
    asked = queries.matching_requests_for
    return {
        "desk: first page of what waits": waiting[: PAGE + 1],
        "desk: deep page of what waits": queries.suspended_workflows_for(
            viewer, after=cursor_of(deep_waiting, SUSPENDED)
        )[: PAGE + 1],
        "desk: first page of what ended": ended[: PAGE + 1],
        "desk: deep page of what ended": queries.ended_workflows_for(
            viewer, after=cursor_of(deep_ended, ENDED)
        )[: PAGE + 1],
        "desk: count of what waits": waiting.order_by()[:COUNT_LIMIT].values("pk"),
        "desk: count of what ended": ended.order_by()[:COUNT_LIMIT].values("pk"),
        "desk: an asker's own, waiting": queries.suspended_workflows_for(asker)[
            : PAGE + 1
        ],
        "desk: an asker's own, ended": queries.ended_workflows_for(asker)[: PAGE + 1],
        "desk: changed since a moment": queries.changed_since(
            viewer, middle.created_at + timedelta(hours=1)
        )[:51],
        "requests: first page": asked(viewer)[: PAGE + 1],
        "requests: deep page": asked(viewer, after=cursor)[: PAGE + 1],
        "requests: that wait": asked(viewer, status="pending")[: PAGE + 1],
        "requests: that were withdrawn (none)": asked(viewer, status="cancelled")[
            : PAGE + 1
        ],
        "requests: of one tool": asked(viewer, canonical_tool="tool-7")[: PAGE + 1],
        "requests: of one tool, none": asked(viewer, canonical_tool="nothing")[
            : PAGE + 1
        ],
        "requests: of one kind, none": asked(viewer, kind="recovery")[: PAGE + 1],
        "requests: of one priority, none": asked(viewer, priority="low")[: PAGE + 1],
        "requests: of one workflow": asked(viewer, workflow__key=middle.workflow.key)[
            : PAGE + 1
        ],
        "requests: search, many found": asked(viewer, text="Refund")[: PAGE + 1],
        "requests: search, one found": asked(viewer, text="no777")[: PAGE + 1],
        "requests: by value, of no tool": asked(viewer, text="tool:nothing")[
            : PAGE + 1
        ],
        "requests: by value, few amounts": asked(viewer, text="amount>=5000")[
            : PAGE + 1
        ],
        "requests: by value, no amounts": asked(viewer, text="amount<-1")[: PAGE + 1],
        "requests: by value, nearly all amounts": asked(viewer, text="amount>1")[
            : PAGE + 1
        ],
        "requests: an asker's own": asked(asker)[: PAGE + 1],
        "audit: first page": AuditEntry.objects.order_by("pk")[:50],
        "audit: deep page": AuditEntry.objects.filter(
            pk__gt=AuditEntry.objects.count() // 2
        ).order_by("pk")[:50],
        "audit: of one workflow": queries.trail_of(
            viewer, Workflow.objects.get(pk=middle.workflow_id)
        ),
        "audit: of one tool": AuditEntry.objects.filter(
            tool_name="tool-7", pk__gt=100
        ).order_by("pk")[:50],
        "audit: of one tool, none": AuditEntry.objects.filter(
            tool_name="nothing"
        ).order_by("pk")[:50],
        **{f"audit: amounts, {name}": found for name, found in _amounts().items()},
        "audit: of one day": AuditEntry.objects.filter(
            at__gte=middle.created_at
        ).order_by("pk")[:50],
    }


def _amounts() -> dict[str, QuerySet[AuditEntry]]:
    """By name; one entry of 1,000 that `many_requests.fill` makes has an amount from 5,000."""
    ranges = {
        "few": AuditFilters(amount_from="5000"),
        "few, of one tool": AuditFilters(amount_from="5000", tool="tool-7"),
        "none": AuditFilters(amount_from="-2", amount_to="-1"),
        "nearly all": AuditFilters(amount_from="1", amount_to="6000"),
    }
    pages = {
        name: entries_for(one).order_by("-at", "-pk")[:51]
        for name, one in ranges.items()
    }
    return pages | {
        f"{name}, exported": entries_for(one).order_by("pk")[:50]
        for name, one in ranges.items()
    }


def plan(found: QuerySet[Any]) -> str:
    """What the database means to do."""
    return str(found.explain())


def scanned(found: QuerySet[Any]) -> set[str]:
    """The tables that are read from end to end."""
    said = plan(found)
    tables = {one or other for one, other in SCAN.findall(said)}
    if (
        connection.vendor == "sqlite"
        and "TEMP B-TREE FOR ORDER BY" not in said
        and found.query.is_sliced
    ):
        # A walk along the table's own order, which ends with the page; a subquery is read to its end.
        return {name for name in tables if name.startswith("U")}
    return tables


def rows(found: QuerySet[Any]) -> int:
    """Run it in the database, without making objects of what it gives."""
    sql, values = found.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return len(cursor.fetchall())
