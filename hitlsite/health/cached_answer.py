"""Cache a result briefly, so that many clients share one computation."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CachedAnswer(Generic[T]):
    """The result of `find`, reused for `seconds` after it was started. `find` must end by itself and must not raise."""

    def __init__(
        self, find: Callable[[], Coroutine[Any, Any, T]], seconds: float
    ) -> None:
        self._find = find
        self._seconds = seconds
        self._task: asyncio.Task[T] | None = None
        self._until = 0.0

    async def get(self) -> T:
        loop = asyncio.get_running_loop()
        if self._task is None or (self._task.done() and loop.time() >= self._until):
            self._until = loop.time() + self._seconds
            # A fresh context, because the result belongs to no request.
            self._task = loop.create_task(self._find(), context=contextvars.Context())
        # Shielded: a client that disconnects must not cancel the result of the others.
        return await asyncio.shield(self._task)
