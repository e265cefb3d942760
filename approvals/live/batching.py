"""Serve many readers of the same thing with one read, on one thread and one database connection."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from approvals.db import pool

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")
F = TypeVar("F")
T = TypeVar("T")


class BatchReader(Generic[K, W, F]):
    """Collect questions on one subject while the previous ones are being read.

    `read_many(subject, questions)` returns an answer or an error for each question, in order.
    """

    def __init__(
        self, read_many: Callable[[K, Sequence[W]], Sequence[F | Exception]]
    ) -> None:
        self._read_many = read_many
        self._questions: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[K, list[tuple[W, asyncio.Future[F]]]]
        ] = WeakKeyDictionary()
        self._reading: set[asyncio.Task[None]] = set()

    async def read(self, subject: K, question: W) -> F:
        """Return the answer of a read that begins after this call."""
        loop = asyncio.get_running_loop()
        questions = self._questions.setdefault(loop, {})
        answer: asyncio.Future[F] = loop.create_future()
        if subject in questions:
            questions[subject].append((question, answer))
        else:
            questions[subject] = [(question, answer)]
            # A separate context: this task serves many requests and must not keep any of them alive.
            task = loop.create_task(
                self._read(questions, subject), context=contextvars.Context()
            )
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
        return await answer

    async def _read(
        self, questions: dict[K, list[tuple[W, asyncio.Future[F]]]], subject: K
    ) -> None:
        try:
            while batch := questions[subject]:
                questions[subject] = []
                answers = await self._answers(
                    subject, [question for question, _ in batch]
                )
                for (_, future), answer in zip(batch, answers, strict=True):
                    if future.done():
                        continue
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
        finally:
            del questions[subject]

    async def _answers(
        self, subject: K, questions: Sequence[W]
    ) -> Sequence[F | Exception]:
        try:
            return await pool.run(self._read_many, subject, questions)
        except Exception as error:
            # Every reader must get an answer.
            return [error] * len(questions)


class BatchCache:
    """Values shared by the readers of one batch, each computed once; `viewers` are the standings of all readers."""

    def __init__(self, viewers: Collection[Any] = ()) -> None:
        self.viewers = viewers
        self._known: dict[Hashable, object] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = make()
        value: T = self._known[key]  # type: ignore[assignment]
        return value
