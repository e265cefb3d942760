"""The turns that this process runs: one asyncio task each, on the loop of the server (embedded) or of a worker.

`on_decided` resumes the turn of an ended request, here or through the queue.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from typing import Any
from uuid import UUID

from django.db.models import Q, UUIDField

from approvals.db import pool
from approvals.db.prepared import Parameter, Prepared
from approvals.states import PROGRAMS, Door
from chats import actions, doorbell
from chats.actions.claiming import Begun
from chats.engine import ledger, runner
from chats.models import ToolCall
from chats.states import TurnState

logger = logging.getLogger(__name__)

#: How long running turns may continue when the server stops, before they are handed over.
DRAIN_SECONDS = 5.0


class Jobs:
    """The running turns of this process, at most `at_once` of them if given.

    A turn keeps its place while it waits for its sub-agent. The sub-agent's turn starts without one; otherwise both would wait
    for each other for ever.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, at_once: int | None = None
    ) -> None:
        self._loop = loop
        self._at_once = at_once
        self._place_free = asyncio.Event()
        self._running: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._again: dict[int, Begun | None] = {}
        self._draining = False

    def count(self) -> int:
        """The number of turns running here."""
        return len(self._running)

    def open(self) -> None:
        """Accept turns from now on."""
        pool.submit(ledger.free_dead_leases)
        doorbell.set_handlers(
            on_queued=self._on_queued,
            on_stop=self._on_stop,
            on_claimed=self._on_claimed,
            owner=ledger.owner(),
        )

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Accept no more turns; give the running ones `seconds` to end, then hand them over to another process."""
        self._draining = True
        self._place_free.set()
        doorbell.set_handlers(on_queued=None, on_stop=None)
        tasks = [task for task, _ in self._running.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def start(self, turn_id: int, begun: Begun | None = None) -> None:
        """Run a turn; one that is already running here is started again when it is done. Call it on the loop's own thread.

        `begun` is the run of a turn that a thread of this process has claimed.
        """
        if self._draining:
            if begun is not None:
                pool.submit(actions.release_turn, begun[0])
            return
        if turn_id in self._running:
            self._again[turn_id] = begun or self._again.get(turn_id)
            return
        stop = asyncio.Event()
        work = (
            runner.advance(turn_id, stop)
            if begun is None
            else runner.go_on(begun, stop)
        )
        # In a context of its own: inheriting a request's context would keep that request's thread and connection.
        task = self._loop.create_task(work, context=contextvars.Context())
        self._running[turn_id] = (task, stop)
        task.add_done_callback(lambda done: self._ended(turn_id, done))

    async def run(self, turn_id: int) -> None:
        """Wait for a free place and run a turn; return when it rests, or belongs to another process.

        Call it on the loop's own thread.
        """
        while self._is_full() and turn_id not in self._running and not self._draining:
            self._place_free.clear()
            await self._place_free.wait()
        self.start(turn_id)
        if turn_id in self._running:
            await asyncio.wait({self._running[turn_id][0]})

    def _ended(self, turn_id: int, task: asyncio.Task[None]) -> None:
        del self._running[turn_id]
        self._place_free.set()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, pool.AWAY):
            # The sweep finds the turn once the database is back, as after a crash.
            pool.outage.record_failure(error)
        elif error is not None:
            logger.error(
                "Turn %s was dropped; the sweep will find it", turn_id, exc_info=error
            )
        if turn_id in self._again:
            self.start(turn_id, self._again.pop(turn_id))

    def _is_full(self) -> bool:
        return self._at_once is not None and len(self._running) >= self._at_once

    def _on_queued(self, turn_id: int, below: bool) -> None:
        self._loop.call_soon_threadsafe(self._start_if_free, turn_id, below)

    def _start_if_free(self, turn_id: int, below: bool) -> None:
        # A turn that finds no place is notified again by the next sweep, here and in other processes.
        if below or turn_id in self._running or not self._is_full():
            self.start(turn_id)

    def _on_claimed(self, begun: Begun) -> None:
        self._loop.call_soon_threadsafe(self.start, begun[0].turn_id, begun)

    def _on_stop(self, turn_id: int) -> None:
        self._loop.call_soon_threadsafe(self._stop, turn_id)

    def _stop(self, turn_id: int) -> None:
        if turn_id in self._running:
            self._running[turn_id][1].set()


_REQUEST = Parameter("request", UUIDField())
#: The suspended turns whose calls made a request.
_ASKED: Prepared[int] = Prepared(
    lambda: ToolCall.objects.filter(
        Q(approval=_REQUEST) | Q(recovery=_REQUEST), turn__state=TurnState.SUSPENDED
    ).values_list("turn", flat=True)
)


def on_decided(
    sender: object, *, request_id: UUID, source: str, via: str, **_: Any
) -> None:
    """Resume the turn whose request has ended, unless it waits for others.

    `actions.take_answers` continues the answered turn itself. If a turn cannot be resumed now, because the database is away or
    its row stays locked, the sweep resumes it.
    """
    if source in PROGRAMS or via == Door.AI_SDK:
        return
    try:
        for turn_id in _ASKED.all(request=request_id):
            # Requests cancelled with a stopped run arrive here too, before or after the expired one.
            if via != Door.DEADLINE or not actions.halt_turn(turn_id):
                actions.wake_turn(turn_id)
    except pool.AWAY as error:
        pool.record_failure(error)
