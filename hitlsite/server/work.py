"""Background work of a process: turns, the sweep, the heartbeat, and notifications from other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from django.apps import apps

from approvals.background import heartbeat, sweep
from approvals.channels.slack import socket_mode
from approvals.live import doorbell, liveness
from approvals.models.processes import WorkerKind
from approvals.outbound import delivery_lanes

if apps.is_installed("chats"):
    from chats import doorbell as chat_doorbell
    from chats.engine import streams
    from chats.engine.dispatcher import take_turns
    from chats.engine.jobs import Jobs


#: Seconds that stopping waits for background tasks, and for running deliveries.
STOP_TIMEOUT = 15.0
DELIVERY_TIMEOUT = 5.0


class BackgroundWork:
    """The background work of one process, on its event loop.

    `runs_turns`: run turns and the sweep. `turns`: how many turns to take from the queue at once; 0 without a queue.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, runs_turns: bool, turns: int = 0
    ) -> None:
        self._loop = loop
        self._runs_turns = runs_turns
        self._turns = turns
        self._tasks: list[asyncio.Task[None]] = []
        self._jobs = (
            Jobs(loop, turns or None)
            if runs_turns and apps.is_installed("chats")
            else None
        )

    def start(self) -> None:
        """Start all tasks. Call it on the loop's thread."""
        doorbell.use_loop(self._loop)
        self._start_task(liveness.check_for_ever())
        running = self._jobs.count if self._jobs is not None else heartbeat.no_turns
        self._start_task(
            heartbeat.send_heartbeats(
                WorkerKind.WORKER if self._turns else WorkerKind.WEB, running
            )
        )
        if self._runs_turns:
            self._start_task(sweep.run_for_ever())
        if apps.is_installed("chats"):
            self._start_task(streams.listen_to_others())
        if self._jobs is not None:
            self._jobs.open()
            self._start_task(chat_doorbell.listen_for_stops())
            if self._turns:
                self._start_task(take_turns(self._jobs, at_once=self._turns))

    async def stop(self) -> None:
        """Take no more work, give running turns time to reach a checkpoint, and hand them over."""
        for task in self._tasks:
            task.cancel()
        delivering = asyncio.gather(
            asyncio.to_thread(delivery_lanes.stop_all, DELIVERY_TIMEOUT),
            asyncio.to_thread(socket_mode.stop_all, DELIVERY_TIMEOUT),
        )
        if self._jobs is not None:
            await self._jobs.drain()
        await delivering
        # Tasks that hang because the database is away are abandoned.
        await asyncio.wait(self._tasks, timeout=STOP_TIMEOUT)

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(self._loop.create_task(work))
