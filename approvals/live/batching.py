"""Many that want to know the same at about the same time are read for together: one look, on one thread and one connection."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from approvals.runtime import database

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")
F = TypeVar("F")
T = TypeVar("T")


class Rounds(Generic[K, W, F]):
    """Collects the wishes about one thing while the ones before are being read. `look` gives an answer or an error to each."""

    def __init__(self, look: Callable[[K, Sequence[W]], Sequence[F | Exception]]) -> None:
        self._look = look
        self._wishes: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[K, list[tuple[W, asyncio.Future[F]]]]] = (
            WeakKeyDictionary()
        )
        self._reading: set[asyncio.Task[None]] = set()

    async def read(self, about: K, wish: W) -> F:
        """What a look finds that begins after this call."""
        loop = asyncio.get_running_loop()
        wishes = self._wishes.setdefault(loop, {})
        answer: asyncio.Future[F] = loop.create_future()
        if about in wishes:
            wishes[about].append((wish, answer))
        else:
            wishes[about] = [(wish, answer)]
            # A context of its own: this task serves many requests and must hold on to none.
            task = loop.create_task(self._read(wishes, about), context=contextvars.Context())
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
        return await answer

    async def _read(self, wishes: dict[K, list[tuple[W, asyncio.Future[F]]]], about: K) -> None:
        try:
            while taken := wishes[about]:
                wishes[about] = []
                answers = await self._answers(about, [wish for wish, _ in taken])
                for (_, waiting_for), answer in zip(taken, answers, strict=True):
                    if waiting_for.done():
                        continue
                    if isinstance(answer, Exception):
                        waiting_for.set_exception(answer)
                    else:
                        waiting_for.set_result(answer)
        finally:
            del wishes[about]

    async def _answers(self, about: K, wishes: Sequence[W]) -> Sequence[F | Exception]:
        try:
            return await database.run(self._look, about, wishes)
        except Exception as error:
            # Nobody may be left waiting for an answer.
            return [error] * len(wishes)


class Shared:
    """What those of one round find alike: read and rendered for the first of them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = make()
        found: T = self._known[key]  # type: ignore[assignment]
        return found
