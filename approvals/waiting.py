"""Wait for what the desk tells: a ring makes it prompt, re-reading makes it sure. No thread and no connection waits along."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer

from approvals import dbpool, doorbell
from approvals.models import ApprovalRequest
from approvals.states import Status

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
async def listening(*groups: str, about: str = "") -> AsyncIterator[Ears]:
    """Hear the rings of these groups; `about` is the id of the one request that matters, if only one does.

    Read the rows after you have begun to listen: what happens in between is then heard twice and not never. A channel
    layer that fails is logged, and whoever waits re-reads.
    """
    doorbell.listen_on(asyncio.get_running_loop())
    layer: Any = get_channel_layer()
    channel, ears = str(await layer.new_channel("waiting")), Ears()
    listener = asyncio.ensure_future(_listen(layer, channel, ears, about))
    try:
        await _quietly(layer.group_add, groups, channel)
        yield ears
    finally:
        listener.cancel()
        await _quietly(layer.group_discard, groups, channel)


async def ended(request_id: UUID, seconds: float) -> None:
    """Return when the request does not wait for anybody any more, or is not there, or when `seconds` have passed."""
    over = time.monotonic() + seconds
    async with listening(doorbell.DESK, about=str(request_id)) as ears:
        while await dbpool.run(_pending, request_id) and (left := over - time.monotonic()) > 0:
            await ears.wait(min(left, POLL))


def _pending(request_id: UUID) -> bool:
    return ApprovalRequest.objects.filter(pk=request_id, status=Status.PENDING).exists()


async def _listen(layer: Any, channel: str, ears: Ears, about: str) -> None:
    while True:
        try:
            message = await layer.receive(channel)
        except Exception:
            logger.warning("Rings cannot be heard; who waits re-reads.", exc_info=True)
            await asyncio.sleep(POLL)
            continue
        if not about or message.get("request") == about:
            ears.rung.set()


async def _quietly(change: Any, groups: tuple[str, ...], channel: str) -> None:
    try:
        for group in groups:
            await change(group, channel)
    except Exception:
        logger.warning("The channel layer did not answer; who waits re-reads.", exc_info=True)
