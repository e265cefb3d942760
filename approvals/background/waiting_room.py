"""Wait for requests to end: each waiting client costs a future on the event loop, but no thread and no connection.

All waiting clients of a process share one listener, and one query every POLL seconds in case notifications get lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from approvals.db import pool
from approvals.live import doorbell
from approvals.live.listeners import Notifications, listen, wait_until_ready
from approvals.models import ApprovalRequest
from approvals.states import Status

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Seconds between two polls of the database.
POLL = 1.0
#: Databases limit the number of query parameters.
BATCH = 500


class _WaitingRoom:
    """The waiting clients of one event loop, by request id.

    It listens from the first client on for as long as the loop runs: to join and leave
    a group of the channel layer costs more than the messages that nobody waits for.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.events: dict[str, set[Notifications]] = {}
        self.ready = asyncio.Event()
        self._loop = loop
        listening = listen([doorbell.DESK], self._wake_for, ready=self.ready)
        self._tasks = [
            asyncio.create_task(listening),
            asyncio.create_task(self._poll()),
        ]

    @contextlib.asynccontextmanager
    async def enter(self, request: str) -> AsyncIterator[Notifications]:
        """Yield the notifications that the request has ended; none sent after entering is missed."""
        ended = Notifications()
        self.events.setdefault(request, set()).add(ended)
        try:
            await wait_until_ready(self.ready)
            yield ended
        finally:
            self.events[request].discard(ended)
            if not self.events[request]:
                del self.events[request]

    def wake(self, requests: Iterable[str]) -> None:
        for request in requests:
            for ended in self.events.get(request, ()):
                ended.record()

    def _wake_for(self, message: Mapping[str, Any]) -> None:
        if message.get("status", Status.PENDING) != Status.PENDING:
            self.wake([str(message["request"])])

    async def _poll(self) -> None:
        try:
            while True:
                await asyncio.sleep(POLL)
                if self.events:
                    await self._wake_ended()
        finally:
            _rooms.pop(self._loop, None)

    async def _wake_ended(self) -> None:
        try:
            self.wake(await pool.run(find_ended, list(self.events)))
        except Exception:
            logger.warning(
                "Requests with waiting clients could not be read; trying again.",
                exc_info=True,
            )


_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, _WaitingRoom] = WeakKeyDictionary()


async def wait_until_ended(
    request_id: UUID, seconds: float, read: Callable[[], T | None]
) -> T | None:
    """Enter the room, then call `read`, so that no end is missed. Return its result; if that is None, return None when the
    request is no longer pending, or after `seconds`.
    """
    loop = asyncio.get_running_loop()
    room = _rooms.get(loop)
    if room is None:
        room = _rooms[loop] = _WaitingRoom(loop)
    async with room.enter(str(request_id)) as ended:
        try:
            answer = await pool.run(read)
        except pool.AWAY as error:
            # `_poll` wakes the client once the database is back.
            pool.outage.record_failure(error)
            answer = None
        if answer is None:
            await ended.wait(seconds)
    return answer


def find_ended(requests: Sequence[str]) -> list[str]:
    """Return those of these requests that have ended."""
    ended: list[str] = []
    for start in range(0, len(requests), BATCH):
        some = ApprovalRequest.objects.filter(pk__in=requests[start : start + BATCH])
        ended += map(
            str, some.exclude(status=Status.PENDING).values_list("pk", flat=True)
        )
    return ended
