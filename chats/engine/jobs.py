"""The turns that a process runs: one asyncio task each, on the loop of the server (embedded) or of a worker."""

from __future__ import annotations

import asyncio
import contextvars
import logging

from approvals.runtime import database
from chats import doorbell
from chats.engine import runner

logger = logging.getLogger(__name__)

#: How long running turns get to come to a good place when the server stops; then they are handed over.
DRAIN_SECONDS = 5.0


class Jobs:
    """The turns that this process runs: `at_once` of them at most, if it says so.

    A turn that waits for its sub-agent keeps its place; so the sub-agent's needs none, or they would wait for each other.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, at_once: int | None = None) -> None:
        self._loop, self._at_once = loop, at_once
        self._room = asyncio.Event()
        self._running: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._again: set[int] = set()
        self._draining = False

    def count(self) -> int:
        """How many turns run here."""
        return len(self._running)

    def open(self) -> None:
        """Take work from now on."""
        doorbell.answer_with(on_work=self._on_work, on_stop=self._on_stop)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Take no more work; what runs may end by itself for a while, and is then handed over to the next server."""
        self._draining = True
        self._room.set()
        doorbell.answer_with(on_work=None, on_stop=None)
        tasks = [task for task, _ in self._running.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def start(self, turn_id: int) -> None:
        """Run a turn, on the loop's own thread; one that runs here already gets another look when it is done."""
        if self._draining:
            return
        if turn_id in self._running:
            self._again.add(turn_id)
            return
        stop = asyncio.Event()
        # A fresh context: a task that inherits a request's would hold that request's thread and connection.
        task = self._loop.create_task(runner.advance(turn_id, stop), context=contextvars.Context())
        self._running[turn_id] = (task, stop)
        task.add_done_callback(lambda done: self._ended(turn_id, done))

    async def run(self, turn_id: int) -> None:
        """Run a turn as soon as there is a place for it, and return when it has come to rest here (or is somebody else's);
        on the loop's own thread.
        """
        while self._is_full() and turn_id not in self._running and not self._draining:
            self._room.clear()
            await self._room.wait()
        self.start(turn_id)
        if turn_id in self._running:
            await asyncio.wait({self._running[turn_id][0]})

    def _ended(self, turn_id: int, task: asyncio.Task[None]) -> None:
        del self._running[turn_id]
        self._room.set()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, database.AWAY):
            # As after a crash: the sweep finds the turn, when there is a database to look in.
            database.outage.met(error)
        elif error is not None:
            logger.error("Turn %s was dropped; the sweep will find it", turn_id, exc_info=error)
        if turn_id in self._again:
            self._again.discard(turn_id)
            self.start(turn_id)

    def _is_full(self) -> bool:
        return self._at_once is not None and len(self._running) >= self._at_once

    def _on_work(self, turn_id: int, below: bool) -> None:
        self._loop.call_soon_threadsafe(self._found, turn_id, below)

    def _found(self, turn_id: int, below: bool) -> None:
        # The sweep asks again in a second, here and in other processes.
        if below or turn_id in self._running or not self._is_full():
            self.start(turn_id)

    def _on_stop(self, turn_id: int) -> None:
        self._loop.call_soon_threadsafe(self._stop, turn_id)

    def _stop(self, turn_id: int) -> None:
        if turn_id in self._running:
            self._running[turn_id][1].set()
