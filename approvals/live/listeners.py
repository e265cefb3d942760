"""Hear a group of the channel layer, for a whole process: one listener, however many wait for what it tells."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from channels.layers import get_channel_layer

from approvals.runtime.failures import Trouble

logger = logging.getLogger(__name__)

#: Seconds before a layer that failed is tried again.
RETRY = 1.0
_deaf = Trouble(
    logger, "Other processes are not heard (%s); rows are read instead.", "Other processes are heard again."
)


async def hear(
    group: str, heard: Callable[[Mapping[str, Any]], None], *, listening: asyncio.Event | None = None
) -> None:
    """Pass on what is sent to a group until cancelled; `listening` is set from when nothing is missed.

    Messages may get lost all the same, so whoever acts on them also looks at the rows now and then.
    """
    layer: Any = get_channel_layer()
    while True:
        try:
            await _hear(layer, group, heard, listening)
        except Exception as error:
            if _deaf.met(f"{type(error).__name__}: {error}"):
                logger.warning("Nothing is heard of %s.", group, exc_info=True)
            await asyncio.sleep(RETRY)


async def _hear(
    layer: Any, group: str, heard: Callable[[Mapping[str, Any]], None], listening: asyncio.Event | None
) -> None:
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    if listening is not None:
        listening.set()
    try:
        while True:
            message = await layer.receive(channel)
            _deaf.passed()
            heard(message)
    finally:
        await layer.group_discard(group, channel)
