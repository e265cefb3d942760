"""Hear what the desk rings; whoever waits re-reads now and then, since a ring may be lost. No thread and no connection waits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from channels.layers import get_channel_layer

from approvals.live import doorbell

logger = logging.getLogger(__name__)

#: How long a lost ring may delay who waits, in seconds.
POLL = 1.0


class Ears:
    """What somebody who waits has heard since they last waited."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Return at a ring, also one from before, or after `seconds`."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.rung.wait(), seconds)
        self.rung.clear()


@contextlib.asynccontextmanager
async def listening(*groups: str) -> AsyncIterator[Ears]:
    """Hear the rings of these groups.

    Read the rows after you have begun to listen: what happens in between is then heard twice and not never. A channel
    layer that fails is logged, and whoever waits re-reads.
    """
    doorbell.listen_on(asyncio.get_running_loop())
    layer: Any = get_channel_layer()
    channel, ears = str(await layer.new_channel("waiting")), Ears()
    listener = asyncio.ensure_future(_listen(layer, channel, ears))
    try:
        await _quietly(layer.group_add, groups, channel)
        yield ears
    finally:
        listener.cancel()
        await _quietly(layer.group_discard, groups, channel)


async def _listen(layer: Any, channel: str, ears: Ears) -> None:
    while True:
        try:
            await layer.receive(channel)
        except Exception:
            logger.warning("Rings cannot be heard; who waits re-reads.", exc_info=True)
            await asyncio.sleep(POLL)
            continue
        ears.rung.set()


async def _quietly(change: Any, groups: tuple[str, ...], channel: str) -> None:
    try:
        for group in groups:
            await change(group, channel)
    except Exception:
        logger.warning("The channel layer did not answer; who waits re-reads.", exc_info=True)
