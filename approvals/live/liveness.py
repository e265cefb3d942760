"""Check whether this process receives the notifications of others.

Otherwise its pages say that they are not live, and are rendered anew every few seconds.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakSet

from channels.layers import get_channel_layer
from django.conf import settings

logger = logging.getLogger(__name__)

#: Seconds between two checks, for one reply, and between re-renderings of all pages while there is no reply.
INTERVAL = 2.0
TIMEOUT = 2.0
POLL = 5.0
IN_MEMORY = "channels.layers.InMemoryChannelLayer"


class OpenPage(Protocol):
    """An open page of this process."""

    async def show_liveness(self, *, live: bool) -> None:
        """Show whether the page is live, and any changes in between."""


class RoundTrip:
    """Send messages through the channel layer to itself."""

    def __init__(self) -> None:
        self._channel = ""

    async def check(self, seconds: float) -> None:
        """Send a message and wait until it arrives.

        Raise TimeoutError after `seconds`, or an error of the layer.
        """
        layer: Any = get_channel_layer()
        nonce = uuid4().hex
        try:
            async with asyncio.timeout(seconds):
                self._channel = self._channel or await layer.new_channel(
                    "pausepoint.echo"
                )
                await layer.send(self._channel, {"type": "echo", "nonce": nonce})
                while (await layer.receive(self._channel))["nonce"] != nonce:
                    continue  # the late answer to an earlier check
        except BaseException:
            # A layer may drop a channel that no one receives from.
            self._channel = ""
            raise


_pages: WeakSet[Any] = WeakSet()
_live = True


def is_live() -> bool:
    """Return whether notifications of other processes arrive here."""
    return _live


def add_page(page: OpenPage) -> None:
    """Notify `page` from now on when notifications stop or resume."""
    _pages.add(page)


def remove_page(page: OpenPage) -> None:
    """Stop notifying `page`."""
    _pages.discard(page)


async def check_for_ever() -> None:
    """Check the channel layer repeatedly until cancelled."""
    round_trip = RoundTrip() if is_shared() else None
    # An in-memory layer misses nothing if all work happens in this process.
    local = bool(settings.HITL_DISPATCH == "here")
    while True:
        await _update(
            live=local if round_trip is None else await _is_answered(round_trip)
        )
        await asyncio.sleep(INTERVAL if is_live() else POLL)


def is_shared() -> bool:
    """Return whether the channel layer reaches other processes."""
    return bool(settings.CHANNEL_LAYERS["default"]["BACKEND"] != IN_MEMORY)


async def _is_answered(round_trip: RoundTrip) -> bool:
    try:
        await round_trip.check(TIMEOUT)
    except Exception as error:
        if _live:
            logger.warning(
                "Redis does not answer (%s); open pages poll every %g s.",
                error or "timeout",
                POLL,
            )
        return False
    return True


async def _update(*, live: bool) -> None:
    global _live
    changed = live != _live
    _live = live
    if changed and live:
        logger.warning("Redis answers again.")
    if changed or not live:
        # One after the other: rendering pages must not slow down the people who are deciding.
        for page in list(_pages):
            try:
                await page.show_liveness(live=live)
            except Exception:
                logger.info("A page could not be rendered again.", exc_info=True)
