"""A large desk: many permissions and keys, and what a call of the API costs on it, in this process and in the database."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from approvals.models import ApiKey
from benchmarks.load.costs import cpu
from benchmarks.load.in_process import call, watched
from benchmarks.load.program import ASK

#: Of each call: median ms of CPU of this process, mean ms of CPU of the database's processes, mean number of statements.
Figures = dict[str, tuple[float, float, float]]
#: Before a call is measured, its statements are compiled and prepared.
WARM_UP = 20


def measure(key: str, decider: str, calls: int) -> Figures:
    """Measure with the key of a program that asks and reads, and of somebody who decides."""
    return asyncio.run(_measure(key, decider, calls))


async def _measure(key: str, decider: str, calls: int) -> Figures:
    asked: list[str] = []

    def send(bearer: str, method: str, path: str, body: Any = None) -> Awaitable[bytes]:
        return call(
            method, f"/api/v1/requests{path}", body, authorization=f"Bearer {bearer}"
        )

    steps: dict[str, Callable[[int], Awaitable[bytes]]] = {
        "ask": lambda number: send(
            key, "POST", "", ASK | {"message": f"Number {number}"}
        ),
        "read": lambda number: send(key, "GET", f"/{asked[number]}"),
        "decide": lambda number: send(
            decider, "POST", f"/{asked[number]}/decision", {"verdict": "approve"}
        ),
    }
    found: Figures = {}
    with watched() as watch:
        for name, step in steps.items():
            taken: list[float] = []
            for number in range(WARM_UP + calls):
                if number == WARM_UP:
                    database = await asyncio.to_thread(database_cpu)
                    taken = []
                    watch.forget()
                began = time.process_time()
                document = json.loads(await step(number))
                taken.append((time.process_time() - began) * 1000)
                if name == "ask":
                    asked.append(document["id"])
            statements = len(watch.statements) / calls
            used = await asyncio.to_thread(database_cpu) - database
            found[name] = (statistics.median(taken), used * 1000 / calls, statements)
    return found


def database_cpu() -> float:
    """Return the seconds of CPU that PostgreSQL's processes of our connections have used; 0 on SQLite, which has none."""
    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND client_port IS NOT NULL"
        )
        return sum(cpu(row[0]) for row in cursor.fetchall())


def add_permissions(number: int) -> None:
    """Give each user so many permissions that nothing asks for."""
    kind = ContentType.objects.order_by("pk")[0]
    made = Permission.objects.bulk_create(
        Permission(codename=f"do_{place}", name=f"Can do {place}", content_type=kind)
        for place in range(number)
    )
    for user in User.objects.all():
        user.user_permissions.add(*made)


def add_keys(number: int) -> None:
    """Add so many keys, each user the same number."""
    users = list(User.objects.all())
    ApiKey.objects.bulk_create(
        ApiKey(
            user=users[place % len(users)],
            name="a key",
            prefix=f"k{place}",
            secret_hash="",
            scopes=["ask"],
        )
        for place in range(number)
    )
