"""Calls of the ASGI application in this process: what each costs in CPU, in statements, and in time under the write lock."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import connections, transaction
from django.db.backends.signals import connection_created

from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from benchmarks.load.program import ASK
from hitlsite.asgi import application
from hitlsite.server.garbage import collect_garbage_rarely
from tests.support.people import bob

#: The ms of CPU of each call, its statements, and for how many ms each held the write lock.
Costs = dict[str, tuple[list[float], int, list[float]]]


def measure(rounds: int) -> Costs:
    """Return what it costs to ask, read and decide a request over REST."""
    collect_garbage_rarely()
    keys = {
        name: create_key(user, name="a program", scopes=SCOPES)[1]
        for name, user in _people().items()
    }
    return asyncio.run(_measure(keys, rounds))


def _people() -> dict[str, User]:
    return {"agent": User.objects.create_user("agent"), "approver": bob()}


async def _measure(keys: dict[str, str], rounds: int) -> Costs:
    found: Costs = {}

    async def timed(name: str, doing: Awaitable[bytes]) -> Any:
        watch.forget()
        began = time.process_time()
        document = json.loads(await doing)
        taken, _, holding = found.get(name, ([], 0, []))
        found[name] = (
            [*taken, (time.process_time() - began) * 1000],
            len(watch.statements),
            holding + watch.held,
        )
        return document

    def send(who: str, method: str, path: str, body: Any = None) -> Awaitable[bytes]:
        return call(
            method, f"/api/v1/requests{path}", body, authorization=f"Bearer {keys[who]}"
        )

    with watched() as watch:
        for number in range(rounds + 5):
            if number == 5:
                # Compiled, imported and cached.
                found.clear()
            asked = await timed(
                "ask", send("agent", "POST", "", ASK | {"tool_call_id": uuid4().hex})
            )
            await timed("read", send("agent", "GET", f"/{asked['id']}"))
            verdict = {"verdict": "approve", "comment": "Twice is enough."}
            await timed(
                "decide", send("approver", "POST", f"/{asked['id']}/decision", verdict)
            )
    return found


class Watch:
    """The statements of all connections that are opened meanwhile, and for how many ms each write lock of SQLite was held."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.held: list[float] = []
        self._began: float | None = None

    def __call__(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,
        context: Any,
    ) -> Any:
        self.statements.append(sql)
        result = execute(sql, params, many, context)
        if sql.startswith("BEGIN"):
            self._began = time.perf_counter()
        elif self._began is not None and context["connection"].in_atomic_block:
            # Only now does Django take callbacks for the end of the transaction.
            transaction.on_commit(functools.partial(self._committed, self._began))
            self._began = None
        return result

    def _committed(self, began: float) -> None:
        self.statements.append("COMMIT")
        self.held.append((time.perf_counter() - began) * 1000)

    def forget(self) -> None:
        self.statements, self.held = [], []


@contextmanager
def watched() -> Iterator[Watch]:
    watch = Watch()

    def created(connection: Any, **_: Any) -> None:
        if watch not in connection.execute_wrappers:
            connection.execute_wrappers.append(watch)

    connections.close_all()
    connection_created.connect(created)
    try:
        yield watch
    finally:
        connection_created.disconnect(created)


async def call(method: str, address: str, body: Any = None, **headers: str) -> bytes:
    """Return the body of a successful response, as the ASGI application sends it."""
    path, _, query = address.partition("?")
    content = b"" if body is None else json.dumps(body).encode()
    sent_headers = {
        "host": "localhost",
        "content-type": "application/json",
        "content-length": str(len(content)),
    } | headers
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (name.encode(), value.encode()) for name, value in sent_headers.items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    asked: list[dict[str, Any]] = [
        {"type": "http.request", "body": content, "more_body": False}
    ]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return (
            asked.pop() if asked else await asyncio.get_running_loop().create_future()
        )

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    assert sent[0]["status"] < 300, (address, sent)
    return b"".join(message.get("body", b"") for message in sent[1:])
