"""The views of the audit page that auditors open, and how long each takes in this process, with the database."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import connection

from approvals.models import AuditEntry
from approvals.queries.audit_filters import AuditCursor
from benchmarks.load.in_process import call
from benchmarks.load.pages import session_of
from hitlsite.server.garbage import collect_garbage_rarely

#: Before a page is measured, its statements are compiled and the database has read what it keeps in memory.
WARM_UP = 3
TABLES = ("approvals_auditentry", "approvals_searchtext", "approvals_approvalrequest")


def addresses() -> dict[str, str]:
    """Return the views by name, over what `audit_log.fill_audit_log` and `many_requests.fill` have made."""
    first, last = AuditEntry.objects.order_by("pk")[0], AuditEntry.objects.latest("pk")
    middle = AuditEntry.objects.filter(pk__gte=(first.pk + last.pk) // 2).order_by(
        "pk"
    )[0]
    day = middle.at.date()
    return {
        "first page": "/audit/",
        "a page in the middle": f"/audit/?after={AuditCursor(middle.at, middle.pk)}".replace(
            "+", "%2B"
        ),
        "one person": "/audit/?person=person-7",
        "nobody of that name": "/audit/?person=nobody",
        "one tool": "/audit/?tool=tool-7",
        "one event, rare": "/audit/?event=request.expired",
        "one event and tool": "/audit/?event=tool.result&tool=tool-3",
        "one verdict, rare": "/audit/?verdict=edit",
        "amounts, one of 1,000": "/audit/?amount_from=5000&amount_to=6000",
        "amounts, nearly all": "/audit/?amount_from=1&amount_to=998.5",
        "amounts, many and all old": "/audit/?amount_from=1000000",
        "amounts, none": "/audit/?amount_to=-1",
        "amounts, half, of one tool": "/audit/?amount_to=500&tool=tool-7",
        "three days, long ago": f"/audit/?since={day}&until={day + timedelta(days=2)}",
        "a person and three days": f"/audit/?person=person-7&since={day}&until={day + timedelta(days=2)}",
        "one request": f"/audit/?request={middle.request_id}",
        "one run": f"/audit/?run={middle.run_id}",
        "search, one request": "/audit/?q=no777",
        "search, a thousand requests": "/audit/?q=no77",
        "search, nearly all requests": "/audit/?q=refund+order",
        "search, nothing": "/audit/?q=zeppelin",
        "search with a person": "/audit/?q=refund&person=person-7",
    }


def measure(pages: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """Return how many ms each page took, in each round, for somebody who may read the audit log."""
    collect_garbage_rarely()
    return asyncio.run(
        _measure(pages, session_of(User.objects.get(username="auditor")), rounds)
    )


async def _measure(
    pages: dict[str, str], session_key: str, rounds: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, address in pages.items():
        taken = []
        for number in range(rounds + WARM_UP):
            began = time.perf_counter()
            await call(
                "GET", address, cookie=f"sessionid={session_key}", accept="text/html"
            )
            if number >= WARM_UP:
                taken.append((time.perf_counter() - began) * 1000)
        found[name] = taken
    return found


def sizes() -> dict[str, tuple[int, int]]:
    """Return the bytes of each table and of its indexes; only on PostgreSQL."""
    with connection.cursor() as cursor:
        found = {}
        for table in TABLES:
            cursor.execute(
                "SELECT pg_table_size(%s::regclass), pg_indexes_size(%s::regclass)",
                [table, table],
            )
            found[table] = cursor.fetchone()
    return found
