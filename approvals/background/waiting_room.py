"""Waiting for requests to end, hundreds at once: who waits costs a future on the loop, no thread and no connection.

All who wait in a process share one listener on the desk's bell and one query now and then, for the rings that got lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from approvals.live import doorbell
from approvals.live.listeners import hear
from approvals.models import ApprovalRequest
from approvals.runtime import database
from approvals.states import Status

logger = logging.getLogger(__name__)

#: Seconds between two looks at the rows.
REREAD = 1.0
#: Databases limit how many values a query may hold.
BATCH = 500


class _Room:
    """Those who wait on one event loop, by the request that they wait for."""

    def __init__(self) -> None:
        self.bells: dict[str, set[asyncio.Event]] = {}
        self.listening = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    def enter(self, request: str) -> asyncio.Event:
        bell = asyncio.Event()
        self.bells.setdefault(request, set()).add(bell)
        if not self.tasks:
            hearing = hear(doorbell.DESK, self._heard, listening=self.listening)
            self.tasks = [asyncio.create_task(hearing), asyncio.create_task(self._reread())]
        return bell

    def leave(self, request: str, bell: asyncio.Event) -> None:
        self.bells[request].discard(bell)
        if not self.bells[request]:
            del self.bells[request]
        if not self.bells:
            for task in self.tasks:
                task.cancel()
            self.tasks = []
            self.listening.clear()

    def wake(self, requests: Iterable[str]) -> None:
        for request in requests:
            for bell in self.bells.get(request, ()):
                bell.set()

    def _heard(self, message: Mapping[str, Any]) -> None:
        self.wake([str(message.get("request", ""))])

    async def _reread(self) -> None:
        while True:
            await asyncio.sleep(REREAD)
            try:
                self.wake(await database.run(_ended, list(self.bells)))
            except Exception:
                logger.warning("Those who wait could not be looked after; trying again.", exc_info=True)


_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, _Room] = WeakKeyDictionary()


async def ended(request_id: UUID, seconds: float) -> None:
    """Return when the request waits for nobody any more, or when `seconds` have passed."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    async with _bell_of(str(request_id)) as bell:
        while not await _has_ended(request_id) and (left := until - loop.time()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), left)
            bell.clear()


@contextlib.asynccontextmanager
async def _bell_of(request_id: str) -> AsyncGenerator[asyncio.Event, None]:
    """An event that is set whenever the request may have ended; what happens after this has begun is not missed."""
    loop = asyncio.get_running_loop()
    doorbell.listen_on(loop)
    room = _rooms.setdefault(loop, _Room())
    bell = room.enter(request_id)
    try:
        # A layer that does not answer must not keep anybody; the rows are read too.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(room.listening.wait(), REREAD)
        yield bell
    finally:
        room.leave(request_id, bell)


async def _has_ended(request_id: UUID) -> bool:
    """Whether it is known to have ended. Who waits goes on waiting while the database is away, and is woken by `_reread`."""
    try:
        return bool(await database.run(_ended, [str(request_id)]))
    except database.AWAY as error:
        database.outage.met(error)
        return False


def _ended(requests: list[str]) -> list[str]:
    found: list[str] = []
    for start in range(0, len(requests), BATCH):
        some = ApprovalRequest.objects.filter(pk__in=requests[start : start + BATCH])
        found += map(str, some.exclude(status=Status.PENDING).values_list("pk", flat=True))
    return found
