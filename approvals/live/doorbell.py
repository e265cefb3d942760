"""Tell open pages that something changed. A ring carries ids only: whoever hears it reads the rows and decides what to show.

Rings may get lost (a full channel, a dead Redis, another process on the in-memory layer); nothing depends on them but
how soon a page knows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from channels.layers import get_channel_layer

from approvals.runtime.failures import Trouble

logger = logging.getLogger(__name__)

#: All who may see every request listen here; everybody also listens on their own group.
DESK = "desk"

_loop: asyncio.AbstractEventLoop | None = None
_lost = Trouble(logger, "Rings are lost (%s); pages are read anew instead.", "Rings arrive again.")


def user_group(user_id: int) -> str:
    return f"user.{user_id}"


def scope_group(scope: str) -> str:
    """Who looks at the requests of one client or conversation listens here."""
    return f"scope.{scope.replace(':', '.')}"


def listen_on(loop: asyncio.AbstractEventLoop) -> None:
    """Name the loop on which this process serves pages; the in-memory layer's queues belong to it."""
    global _loop
    _loop = loop


def ring(group: str, message: Mapping[str, object]) -> None:
    """Send `message` (with its handler's name under `type`) to a group; never waits, never raises, any thread."""
    loop = _loop
    if loop is None or loop.is_closed():
        return
    asyncio.run_coroutine_threadsafe(_send(group, dict(message)), loop)


async def _send(group: str, message: dict[str, object]) -> None:
    layer: Any = get_channel_layer()
    try:
        await layer.group_send(group, message)
    except Exception as error:
        if _is_away(error):
            _lost.met(f"{type(error).__name__}: {error}")
        else:
            # A mistake of ours: each has its traceback, whatever else is failing.
            logger.warning("A ring for %s was lost.", group, exc_info=True)
    else:
        _lost.passed()


def _is_away(error: Exception) -> bool:
    """Whether the layer could not be reached. Redis' errors go by their module: it is loaded only where there is a Redis."""
    return isinstance(error, OSError) or type(error).__module__ == "redis.exceptions"
