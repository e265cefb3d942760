"""An answer that many ask for, found once and good for a moment: however many ask, one look at a time is under way."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Remembered(Generic[T]):
    """What `find` gives, for `seconds` from when it was asked. `find` has to end by itself, and not to raise."""

    def __init__(self, find: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> None:
        self._find, self._seconds = find, seconds
        self._looking: asyncio.Task[T] | None = None
        self._until = 0.0

    async def get(self) -> T:
        loop = asyncio.get_running_loop()
        if self._looking is None or (self._looking.done() and loop.time() >= self._until):
            self._until = loop.time() + self._seconds
            # A fresh context: what is found belongs to no request.
            self._looking = loop.create_task(self._find(), context=contextvars.Context())
        # Shielded: a client that leaves does not take the answer from the others.
        return await asyncio.shield(self._looking)
