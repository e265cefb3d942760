"""Notify open pages and waiting clients that something changed.

A notification carries ids only: whoever receives it reads the rows and decides what to show. Notifications may get lost (a
full channel, a dead Redis, another process on the in-memory layer), so they only make pages prompt; nothing depends on them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from channels.layers import get_channel_layer

from approvals.runtime.failures import OutageLog

logger = logging.getLogger(__name__)

#: The group of everyone who may see every request. Each user also has a group of their own.
DESK = "desk"
#: The key of a message under which its group is sent along: all listeners of a process share one channel.
GROUP = "group"

_loop: asyncio.AbstractEventLoop | None = None
_outage = OutageLog(logger, "Notifications are lost (%s); pages poll instead.", "Notifications arrive again.")


def user_group(user_id: int) -> str:
    """Return the group of one user's pages."""
    return f"user.{user_id}"


def scope_group(scope: str) -> str:
    """Return the group of the pages that show the requests of one client or conversation."""
    return f"scope.{scope.replace(':', '.')}"


def use_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Send notifications from `loop`, on which this process serves pages: the in-memory layer's queues belong to it."""
    global _loop
    _loop = loop


def notify(group: str, message: Mapping[str, object]) -> None:
    """Send `message` to a group, with the name of its handler under `type`.

    May be called on any thread. Never blocks and never raises.
    """
    loop = _loop
    if loop is None or loop.is_closed():
        return
    asyncio.run_coroutine_threadsafe(send(group, message), loop)


async def send(group: str, message: Mapping[str, object]) -> None:
    """Send `message` as `notify` does, from the running loop. Return when it has left this process."""
    layer: Any = get_channel_layer()
    try:
        await layer.group_send(group, {**message, GROUP: group})
    except Exception as error:
        if _is_unavailable(error):
            _outage.record_failure(f"{type(error).__name__}: {error}")
        else:
            # A bug of ours: log each with its traceback, whatever else is failing.
            logger.warning("A notification for %s was lost.", group, exc_info=True)
    else:
        _outage.record_success()


def _is_unavailable(error: Exception) -> bool:
    # The errors of Redis are recognized by their module, because redis is imported only where REDIS_URL is set.
    return isinstance(error, OSError) or type(error).__module__ == "redis.exceptions"
