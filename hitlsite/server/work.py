"""What a process does beside serving pages: run turns, sweep, and hear what the other processes do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from django.apps import apps

from approvals.background import heartbeat, sweep
from approvals.live import doorbell, liveness
from approvals.models.processes import WorkerKind
from approvals.outbound import delivery_lanes

if apps.is_installed("chats"):
    from chats import doorbell as chat_doorbell
    from chats.engine import streams
    from chats.engine.dispatcher import take_turns
    from chats.engine.jobs import Jobs


#: Seconds for what runs beside turns to take its leave, and for messages that are on their way.
LEAVING, DELIVERING = 15.0, 5.0


class DeskWork:
    """The work of one process, on its loop. `runs_turns`: turns and the sweep too, and not only pages.

    `turns` are taken from a queue: at most so many at once; 0 where there is none, and no limit.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, runs_turns: bool, turns: int = 0) -> None:
        self._loop, self._runs_turns, self._turns = loop, runs_turns, turns
        self._tasks: list[asyncio.Task[None]] = []
        self._jobs = Jobs(loop, turns or None) if runs_turns and apps.is_installed("chats") else None

    def start(self) -> None:
        """Begin, on the loop's own thread."""
        doorbell.listen_on(self._loop)
        self._do(liveness.beat_for_ever())
        running = self._jobs.count if self._jobs is not None else heartbeat.idle
        self._do(heartbeat.beat(WorkerKind.WORKER if self._turns else WorkerKind.WEB, running))
        if self._runs_turns:
            self._do(sweep.run_for_ever())
        if apps.is_installed("chats"):
            self._do(streams.listen_to_others())
        if self._jobs is not None:
            self._jobs.open()
            self._do(chat_doorbell.listen_for_stops())
            if self._turns:
                self._do(take_turns(self._jobs, at_once=self._turns))

    async def stop(self) -> None:
        """Take no more work; running turns get a while to come to a good place, and are then handed over."""
        for task in self._tasks:
            task.cancel()
        delivering = asyncio.create_task(asyncio.to_thread(delivery_lanes.stop_all, DELIVERING))
        if self._jobs is not None:
            await self._jobs.drain()
        await delivering
        # What hangs on a database that is away is left behind: nothing of it is needed any more.
        await asyncio.wait(self._tasks, timeout=LEAVING)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(self._loop.create_task(work))
