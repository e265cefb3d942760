"""Whether this process hears what others ring. While it does not, its pages say so and are read anew every few seconds."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol
from weakref import WeakSet

from django.conf import settings

from approvals.live.echo import Echo

logger = logging.getLogger(__name__)

#: Seconds between two beats, for a beat to come back, and between two readings of all pages while nothing is heard.
BEAT, PATIENCE, REREAD = 2.0, 2.0, 5.0
LOCAL = "channels.layers.InMemoryChannelLayer"


class Page(Protocol):
    """An open page of this process."""

    async def heard(self, *, live: bool) -> None:
        """Say whether pushes come by themselves, and show what has happened meanwhile."""


_pages: WeakSet[Any] = WeakSet()
_live = True


def is_live() -> bool:
    """Whether rings of other processes arrive here."""
    return _live


def watch(page: Page) -> None:
    """Tell this page when pushes stop or come back, for as long as it is kept by somebody."""
    _pages.add(page)


def forget(page: Page) -> None:
    _pages.discard(page)


async def beat_for_ever() -> None:
    """Send a beat through the channel layer and wait for it, again and again, until cancelled."""
    echo = Echo() if is_shared() else None
    while True:
        await _told(live=await _returns(echo) if echo is not None else _comes_by_itself())
        await asyncio.sleep(BEAT if is_live() else REREAD)


def is_shared() -> bool:
    """Whether the channel layer reaches other processes."""
    return bool(settings.CHANNEL_LAYERS["default"]["BACKEND"] != LOCAL)


def _comes_by_itself() -> bool:
    """Without a shared layer: everything happens here, or nothing of what happens elsewhere is heard."""
    return bool(settings.HITL_DISPATCH == "here")


async def _returns(echo: Echo) -> bool:
    try:
        await echo.come_back(PATIENCE)
    except Exception as error:
        if _live:
            logger.warning("Redis does not answer (%s); open pages are read every %g s.", error or "timeout", REREAD)
        return False
    return True


async def _told(*, live: bool) -> None:
    global _live
    changed, _live = live != _live, live
    if changed and live:
        logger.warning("Redis answers again.")
    if changed or not live:
        # One after the other: pages that are read anew must not crowd out those who decide.
        for page in list(_pages):
            try:
                await page.heard(live=live)
            except Exception:
                logger.info("A page could not be read anew.", exc_info=True)
