"""The turns that a process runs: one asyncio task each, on the loop of the server (embedded) or of a worker."""

from __future__ import annotations

import asyncio
import contextvars
import logging

from chats import doorbell, runner

logger = logging.getLogger(__name__)

#: How long running turns get to come to a good place when the server stops; then they are handed over.
DRAIN_SECONDS = 5.0


class Jobs:
    """The turns that this process runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
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
        """Run a turn, and return when it has come to rest here (or is somebody else's); on the loop's own thread."""
        self.start(turn_id)
        if turn_id in self._running:
            await asyncio.wait({self._running[turn_id][0]})

    def _ended(self, turn_id: int, task: asyncio.Task[None]) -> None:
        del self._running[turn_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("Turn %s was dropped; the sweep will find it", turn_id, exc_info=error)
        if turn_id in self._again:
            self._again.discard(turn_id)
            self.start(turn_id)

    def _on_work(self, turn_id: int) -> None:
        self._loop.call_soon_threadsafe(self.start, turn_id)

    def _on_stop(self, turn_id: int) -> None:
        self._loop.call_soon_threadsafe(self._stop, turn_id)

    def _stop(self, turn_id: int) -> None:
        if turn_id in self._running:
            self._running[turn_id][1].set()
