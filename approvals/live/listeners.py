"""Listen to groups of the channel layer: for pages, waiting clients, and whole processes.

An event loop has one channel for all its listeners: a notification is received once and passed on in memory. (With a channel for
each page, the in-memory layer would scan all channels for every page, and Redis would need a subscription for each.)

Notifications may get lost, so listeners also poll the rows. No thread or database connection is held while waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from approvals.db.failures import OutageLog
from approvals.live import doorbell

logger = logging.getLogger(__name__)

#: Seconds before a failed channel layer is tried again.
RETRY = 1.0
_outage = OutageLog(
    logger,
    "Notifications cannot be received (%s); rows are polled instead.",
    "Notifications are received again.",
)

#: Called with every message to a group, on the event loop; must not block.
Handle = Callable[[Mapping[str, Any]], None]


class _Group:
    """The local listeners of a group; `ready` is set once the channel has joined it."""

    def __init__(self) -> None:
        self.handles: list[Handle] = []
        self.ready = asyncio.Event()


class _Switchboard:
    """The channel of one event loop. It joins the groups that have listeners, and is dropped with the last of them.

    Its own task joins and leaves groups, so a cancelled listener leaves nothing behind, even while Redis hangs.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.groups: dict[str, _Group] = {}
        #: Groups to join or leave; "" if messages can no longer be received.
        self._changed: asyncio.Queue[str] = asyncio.Queue()
        self._loop = loop
        self._task = loop.create_task(self._run())

    def join(self, name: str, handle: Handle) -> asyncio.Event:
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = _Group()
            self._changed.put_nowait(name)
        group.handles.append(handle)
        return group.ready

    def leave(self, name: str, handle: Handle) -> None:
        group = self.groups[name]
        group.handles.remove(handle)
        if not group.handles:
            del self.groups[name]
            self._changed.put_nowait(name)

    async def _run(self) -> None:
        try:
            while self.groups:
                try:
                    await self._follow_changes()
                except Exception as error:
                    if _outage.record_failure(f"{type(error).__name__}: {error}"):
                        logger.warning(
                            "No notifications arrive for %s.",
                            ", ".join(self.groups),
                            exc_info=True,
                        )
                    await asyncio.sleep(RETRY)
        finally:
            _switchboards.pop(self._loop, None)

    async def _follow_changes(self) -> None:
        """Join and leave groups as listeners come and go, until there are none. Raise the errors of the channel layer."""
        layer: Any = get_channel_layer()
        channel = await layer.new_channel()
        receiving = asyncio.create_task(self._receive(layer, channel))
        receiving.add_done_callback(lambda _: self._changed.put_nowait(""))
        joined: set[str] = set()
        for name in self.groups:
            self._changed.put_nowait(name)
        try:
            while self.groups:
                name = await self._changed.get()
                if receiving.done():
                    return receiving.result()
                if name in self.groups and name not in joined:
                    await layer.group_add(name, channel)
                    joined.add(name)
                elif name in joined and name not in self.groups:
                    joined.remove(name)
                    await layer.group_discard(name, channel)
                if name in self.groups and name in joined:
                    self.groups[name].ready.set()
        finally:
            for group in self.groups.values():
                group.ready.clear()
            for name in joined:
                # An error here would replace the cancellation, and the channel layer would be subscribed to again.
                with contextlib.suppress(Exception):
                    await layer.group_discard(name, channel)
            receiving.cancel()
            await asyncio.wait([receiving])

    async def _receive(self, layer: Any, channel: str) -> None:
        while True:
            message = await layer.receive(channel)
            _outage.record_success()
            group = self.groups.get(message.get(doorbell.GROUP, ""))
            for handle in list(group.handles) if group is not None else ():
                try:
                    handle(message)
                except Exception:
                    # An error of one listener must not affect the others.
                    logger.exception("A notification could not be handled")


_switchboards: WeakKeyDictionary[asyncio.AbstractEventLoop, _Switchboard] = (
    WeakKeyDictionary()
)


class Subscription:
    """Pass the messages of groups on to `handle`, from `join` to `leave`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._joined: list[tuple[_Switchboard, str]] = []

    def join(self, groups: Sequence[str]) -> list[asyncio.Event]:
        """Join, and return the events that are set once messages arrive."""
        loop = asyncio.get_running_loop()
        doorbell.use_loop(loop)
        board = _switchboards.get(loop)
        if board is None:
            board = _switchboards[loop] = _Switchboard(loop)
        self._joined += [(board, group) for group in groups]
        return [board.join(group, self._handle) for group in groups]

    def leave(self) -> None:
        """Leave all groups."""
        for board, group in self._joined:
            board.leave(group, self._handle)
        self._joined = []


class Notifications:
    """Whether notifications arrived since the last `wait`. Code that follows rows waits with it, and then reads them."""

    def __init__(self) -> None:
        self._arrived = asyncio.Event()

    def record(self, message: object = None) -> None:
        """Note that a notification arrived."""
        self._arrived.set()

    async def wait(
        self, seconds: float, *, until: Callable[[], bool] = lambda: True
    ) -> bool:
        """Return True at a notification after which `until` holds, including one since the last call; False after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while await self._arrived.wait():
                    self._arrived.clear()
                    if until():
                        return True
        except TimeoutError:
            pass
        return False


@contextlib.asynccontextmanager
async def subscribe(*groups: str) -> AsyncIterator[Notifications]:
    """Yield the notifications of `groups`.

    Read the rows after entering: a change in between is then seen twice rather than missed.
    """
    notifications = Notifications()
    subscription = Subscription(notifications.record)
    try:
        await wait_until_ready(*subscription.join(groups))
        yield notifications
    finally:
        subscription.leave()


async def wait_until_ready(*ready: asyncio.Event) -> None:
    """Wait for all of `ready`, at most RETRY seconds: a hanging channel layer must not block a reader of rows."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(RETRY):
            for event in ready:
                await event.wait()


async def listen(
    groups: Sequence[str], handle: Handle, *, ready: asyncio.Event | None = None
) -> None:
    """Call `handle` with every message to one of `groups`, until cancelled; set `ready` once all are subscribed.

    After a failure of the channel layer, subscribe again after RETRY.
    """
    subscription = Subscription(handle)
    try:
        for joined in subscription.join(groups):
            await joined.wait()
        if ready is not None:
            ready.set()
        await asyncio.get_running_loop().create_future()
    finally:
        subscription.leave()
