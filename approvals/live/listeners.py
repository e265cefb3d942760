"""Listen to groups of the channel layer: for a whole process with `listen`, for one waiting client with `subscribe`.

Notifications may get lost, so whoever acts on them also polls the rows. No thread and no database connection waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from channels.layers import get_channel_layer

from approvals.live import doorbell
from approvals.runtime.failures import OutageLog

logger = logging.getLogger(__name__)

#: Seconds before a channel layer that failed is tried again.
RETRY = 1.0
_outage = OutageLog(
    logger, "Notifications cannot be received (%s); rows are polled instead.", "Notifications are received again."
)


class Notifications:
    """Whether notifications arrived since the last `wait`."""

    def __init__(self) -> None:
        self._arrived = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Return at a notification, including one that arrived since the last call, or after `seconds`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), seconds)
        self._arrived.clear()

    def record(self, message: Mapping[str, Any]) -> None:
        """Note that a notification arrived."""
        self._arrived.set()


@contextlib.asynccontextmanager
async def subscribe(*groups: str) -> AsyncIterator[Notifications]:
    """Yield the notifications of `groups`.

    Read the rows after entering: a change in between is then seen twice rather than never.
    """
    doorbell.use_loop(asyncio.get_running_loop())
    notifications, ready = Notifications(), asyncio.Event()
    listener = asyncio.create_task(listen(groups, notifications.record, ready=ready))
    try:
        await wait_until_ready(ready)
        yield notifications
    finally:
        listener.cancel()
        await asyncio.wait([listener])


async def wait_until_ready(ready: asyncio.Event) -> None:
    """Wait for `ready`, but no longer than RETRY: a channel layer that does not answer must not block a reader of rows."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(ready.wait(), RETRY)


async def listen(
    groups: Sequence[str], handle: Callable[[Mapping[str, Any]], None], *, ready: asyncio.Event | None = None
) -> None:
    """Call `handle` with every message to one of `groups`, until cancelled; set `ready` once all are subscribed.

    A channel layer that fails is subscribed to again after RETRY.
    """
    layer: Any = get_channel_layer()
    while True:
        try:
            await _receive(layer, groups, handle, ready)
        except Exception as error:
            if _outage.record_failure(f"{type(error).__name__}: {error}"):
                logger.warning("No notifications arrive for %s.", ", ".join(groups), exc_info=True)
            await asyncio.sleep(RETRY)


async def _receive(
    layer: Any, groups: Sequence[str], handle: Callable[[Mapping[str, Any]], None], ready: asyncio.Event | None
) -> None:
    channel = await layer.new_channel()
    try:
        for group in groups:
            await layer.group_add(group, channel)
        if ready is not None:
            ready.set()
        while True:
            message = await layer.receive(channel)
            _outage.record_success()
            handle(message)
    finally:
        for group in groups:
            # An error here would replace the cancellation, and the listener would subscribe again.
            with contextlib.suppress(Exception):
                await layer.group_discard(group, channel)
