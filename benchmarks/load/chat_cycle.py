"""A chat cycle in this process: the changes of thread, the tasks that it starts, its statements and its commits."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from benchmarks.load.in_process import call
from tests.support.machines import served, user_message


def measure(cycles: int) -> dict[str, float]:
    """Return the mean of so many cycles of an AI SDK client, after one that compiles and connects."""
    key = create_key(
        User.objects.get(username="approver"), name="a program", scopes=SCOPES
    )[1]

    async def story() -> Counter[str]:
        await _cycle(key, "first", Counter())
        counts: Counter[str] = Counter()
        for number in range(cycles):
            await _cycle(key, f"chat-{number}", counts)
        return counts

    return {name: count / cycles for name, count in served(story).items()}


async def _cycle(key: str, chat: str, counts: Counter[str]) -> None:
    authorization = f"Bearer {key}"

    async def post(message: dict[str, Any]) -> None:
        with _counted(counts):
            body = await call(
                "POST",
                "/api/chat",
                {"id": chat, "message": message},
                authorization=authorization,
            )
        assert b'"finish"' in body, body

    async def last() -> dict[str, Any]:
        document = await call("GET", f"/api/chat/{chat}", authorization=authorization)
        return dict(json.loads(document)["messages"][-1])

    await post(user_message("look up and book it", "u1"))
    message = await last()
    (waiting,) = [
        part for part in message["parts"] if part.get("state") == "approval-requested"
    ]
    waiting |= {
        "state": "approval-responded",
        "approval": waiting["approval"] | {"approved": True},
    }
    await post(message)
    message = await last()
    assert message["parts"][-1]["text"] == "Done: booked 5", message


@contextmanager
def _counted(counts: Counter[str]) -> Iterator[None]:
    loop, submit = asyncio.get_running_loop(), ThreadPoolExecutor.submit
    cursors: Any = CursorWrapper
    connections: Any = BaseDatabaseWrapper
    execute, commit = cursors._execute_with_wrappers, connections._commit

    def executing(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        # A thread may open its connection here. Not each database says that a transaction begins.
        counts["statements"] += not sql.startswith(("PRAGMA", "BEGIN"))
        return execute(self, sql, *args, **kwargs)

    def committing(self: Any) -> Any:
        counts["commits"] += 1
        return commit(self)

    def submitting(self: ThreadPoolExecutor, *args: Any, **kwargs: Any) -> Any:
        counts["hops to another thread"] += 1
        return submit(self, *args, **kwargs)

    def creating(
        loop: asyncio.AbstractEventLoop, coroutine: Any, **kwargs: Any
    ) -> asyncio.Task[Any]:
        counts["tasks"] += 1
        return asyncio.Task(coroutine, loop=loop, **kwargs)

    ThreadPoolExecutor.submit = submitting  # type: ignore[method-assign]
    cursors._execute_with_wrappers, connections._commit = executing, committing
    loop.set_task_factory(creating)
    try:
        yield
    finally:
        ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
        cursors._execute_with_wrappers, connections._commit = execute, commit
        loop.set_task_factory(None)
