"""Notify open pages and waiting clients of changes.

A notification carries only ids: its receiver reads the rows and decides what to show. Notifications may get lost (a full channel,
a dead Redis, another process on the in-memory layer), so they only make pages faster; nothing depends on them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Set
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import InMemoryChannelLayer, get_channel_layer

from approvals.db.failures import OutageLog

logger = logging.getLogger(__name__)

#: The group of all viewers who may see every request. Each user also has a group of their own.
DESK = "desk"
#: The key for the group in a message: all listeners of a process share one channel.
GROUP = "group"

_loop: asyncio.AbstractEventLoop | None = None
_lock = threading.Lock()
#: Notifications that leave with the next task of a loop.
_waiting: WeakKeyDictionary[
    asyncio.AbstractEventLoop, list[tuple[str, Mapping[str, object]]]
] = WeakKeyDictionary()
_outage = OutageLog(
    logger,
    "Notifications are lost (%s); pages poll instead.",
    "Notifications arrive again.",
)


def user_group(user_id: int) -> str:
    """Return the group of one user's pages."""
    return f"user.{user_id}"


def scope_group(scope: str) -> str:
    """Return the group of the pages that show the requests of one client or conversation."""
    return f"scope.{scope.replace(':', '.')}"


def use_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Send notifications from `loop`, which serves this process's pages: the in-memory layer's queues belong to it."""
    global _loop
    _loop = loop


def notify(groups: Set[str], message: Mapping[str, object]) -> None:
    """Send `message` to these groups, with the name of its handler under `type`.

    May be called on any thread. Never blocks and never raises. The notifications of a commit leave in one task.
    """
    loop = _loop
    if loop is None or loop.is_closed():
        return
    layer = get_channel_layer()
    if isinstance(layer, InMemoryChannelLayer):
        # Here all listeners are known; those of other processes, with Redis, are not. A listener that joins later reads the
        # rows after joining, and so sees everything committed before.
        groups = {group for group in groups if group in layer.groups}
    if not groups:
        return
    with _lock:
        waiting = _waiting.setdefault(loop, [])
        task_is_due = not waiting
        waiting += [(group, message) for group in groups]
    if task_is_due:
        asyncio.run_coroutine_threadsafe(_send_waiting(loop), loop)


async def _send_waiting(loop: asyncio.AbstractEventLoop) -> None:
    with _lock:
        leaving = _waiting.pop(loop)
    for group, message in leaving:
        await send(group, message)


async def send(group: str, message: Mapping[str, object]) -> None:
    """Send `message` like `notify`, from the running loop. Return when it has left this process."""
    layer: Any = get_channel_layer()
    try:
        await layer.group_send(group, {**message, GROUP: group})
    except Exception as error:
        if _is_unavailable(error):
            _outage.record_failure(f"{type(error).__name__}: {error}")
        else:
            # A bug of ours: log each with its traceback, even during an outage.
            logger.warning("A notification for %s was lost.", group, exc_info=True)
    else:
        _outage.record_success()


def _is_unavailable(error: Exception) -> bool:
    # Redis errors are recognized by module, because redis is imported only where REDIS_URL is set.
    return isinstance(error, OSError) or type(error).__module__ == "redis.exceptions"
