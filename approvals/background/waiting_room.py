"""Wait for requests to end, hundreds at once: each waiting client costs a future on the loop, no thread and no connection.

All clients that wait in a process share one listener and one query every POLL seconds, in case notifications get lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db.models import UUIDField

from approvals.db import pool
from approvals.db.prepared import Parameter, Prepared
from approvals.live import doorbell
from approvals.live.listeners import Notifications, listen, wait_until_ready
from approvals.models import ApprovalRequest
from approvals.states import Status

logger = logging.getLogger(__name__)

#: Seconds between two reads of the rows.
POLL = 1.0
#: Databases limit how many parameters a query may have.
BATCH = 500


class _WaitingRoom:
    """The clients that wait on one event loop, by the id of their request."""

    def __init__(self) -> None:
        self.events: dict[str, set[Notifications]] = {}
        self.ready = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    @contextlib.asynccontextmanager
    async def enter(self, request: str) -> AsyncIterator[Notifications]:
        """Yield the notifications that the request has ended; nothing that happens after entering is missed."""
        ended = Notifications()
        self.events.setdefault(request, set()).add(ended)
        if not self.tasks:
            listening = listen([doorbell.DESK], self._wake_for, ready=self.ready)
            self.tasks = [asyncio.create_task(listening), asyncio.create_task(self._poll())]
        try:
            await wait_until_ready(self.ready)
            yield ended
        finally:
            self.events[request].discard(ended)
            if not self.events[request]:
                del self.events[request]
            if not self.events:
                for task in self.tasks:
                    task.cancel()
                self.tasks = []
                self.ready.clear()

    def wake(self, requests: Iterable[str]) -> None:
        for request in requests:
            for ended in self.events.get(request, ()):
                ended.record()

    def _wake_for(self, message: Mapping[str, Any]) -> None:
        if message.get("status", Status.PENDING) != Status.PENDING:
            self.wake([str(message["request"])])

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            try:
                self.wake(await pool.run(_find_ended, list(self.events)))
            except Exception:
                logger.warning("Requests with waiting clients could not be read; trying again.", exc_info=True)


_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, _WaitingRoom] = WeakKeyDictionary()


async def wait_until_ended(request_id: UUID, seconds: float) -> None:
    """Return when the request is no longer pending, or after `seconds`."""
    room = _rooms.setdefault(asyncio.get_running_loop(), _WaitingRoom())
    async with room.enter(str(request_id)) as ended:
        # It may have ended before this client was among those that are woken.
        if not await _has_ended(request_id):
            await ended.wait(seconds)


async def _has_ended(request_id: UUID) -> bool:
    """Return whether the request is known to have ended; while the database is away, False: `_poll` wakes the client later."""
    try:
        return await pool.run(_ENDED.first, pk=request_id) is not None
    except pool.AWAY as error:
        pool.outage.record_failure(error)
        return False


_ENDED: Prepared[tuple[str]] = Prepared(
    lambda: (
        ApprovalRequest.objects.filter(pk=Parameter("pk", UUIDField()))
        .exclude(status=Status.PENDING)
        .values_list("status")
    )
)


def _find_ended(requests: list[str]) -> list[str]:
    ended: list[str] = []
    for start in range(0, len(requests), BATCH):
        some = ApprovalRequest.objects.filter(pk__in=requests[start : start + BATCH])
        ended += map(str, some.exclude(status=Status.PENDING).values_list("pk", flat=True))
    return ended
