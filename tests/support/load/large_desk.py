"""Calls of the API in this process, without HTTP: their CPU, that of the database's processes, and their statements."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections
from django.db.backends.signals import connection_created

from approvals.live import doorbell
from approvals.models import ApiKey
from hitlsite.asgi import application
from tests.support.load.costs import cpu
from tests.support.load.program import ASK

#: Of each call: median ms of CPU of this process, mean ms of CPU of the database's processes, mean number of statements.
Figures = dict[str, tuple[float, float, float]]
#: Before a call is measured, its statements are compiled and prepared.
WARM_UP = 20


class Calls:
    """Makes calls with the key of a program that asks and reads, and of somebody who decides."""

    def __init__(self, key: str, decider: str) -> None:
        self.keys = {"ask": key, "read": key, "decide": decider}
        self.statements = 0
        connections.close_all()
        connection_created.connect(self._count, weak=False)

    def _count(self, connection: Any, **_: Any) -> None:
        def run(execute: Callable[..., Any], *given: Any) -> Any:
            self.statements += 1
            return execute(*given)

        connection.execute_wrappers.append(run)

    def measure(self, calls: int) -> Figures:
        return asyncio.run(self._measure(calls))

    async def _measure(self, calls: int) -> Figures:
        doorbell.use_loop(asyncio.get_running_loop())
        asked: list[str] = []
        steps: dict[str, Callable[[int], Awaitable[Any]]] = {
            "ask": lambda number: self._send("ask", "/api/v1/requests", ASK | {"message": f"Number {number}"}),
            "read": lambda number: self._send("read", f"/api/v1/requests/{asked[number]}"),
            "decide": lambda number: self._send(
                "decide", f"/api/v1/requests/{asked[number]}/decision", {"verdict": "approve"}
            ),
        }
        found: Figures = {}
        for name, call in steps.items():
            taken: list[float] = []
            for number in range(WARM_UP + calls):
                if number == WARM_UP:
                    database = await asyncio.to_thread(database_cpu)
                    taken, counted = [], self.statements
                began = time.process_time()
                document = await call(number)
                taken.append((time.process_time() - began) * 1000)
                if name == "ask":
                    asked.append(document["id"])
            counted = self.statements - counted
            used = await asyncio.to_thread(database_cpu) - database
            found[name] = (statistics.median(taken), used * 1000 / calls, counted / calls)
        return found

    async def _send(self, call: str, path: str, body: Any = None) -> Any:
        raw = b"" if body is None else json.dumps(body).encode()
        headers = {"host": "localhost", "authorization": f"Bearer {self.keys[call]}", "accept": "application/json"}
        headers |= {"content-type": "application/json", "content-length": str(len(raw))} if raw else {}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST" if raw else "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        received = [{"type": "http.request", "body": raw, "more_body": False}]
        sent: list[dict[str, Any]] = []
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not received:
                # The client stays until the answer is complete.
                await gone.wait()
                return {"type": "http.disconnect"}
            return received.pop()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await application(scope, receive, send)
        text = b"".join(message.get("body", b"") for message in sent)
        assert sent[0]["status"] < 300, (path, sent[0]["status"], text[:500])
        return json.loads(text)


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
        Permission(codename=f"do_{place}", name=f"Can do {place}", content_type=kind) for place in range(number)
    )
    for user in User.objects.all():
        user.user_permissions.add(*made)


def add_keys(number: int) -> None:
    """Add so many keys, each user the same number."""
    users = list(User.objects.all())
    ApiKey.objects.bulk_create(
        ApiKey(user=users[place % len(users)], name="a key", prefix=f"k{place}", secret_hash="", scopes=["ask"])
        for place in range(number)
    )
