"""The stream of a provider, also if it fails in the middle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


async def read_into(events: list[Any], stream: AsyncIterator[Any]) -> None:
    """Append each event when it comes, so that those before a failure are there."""
    async for event in stream:
        events.append(event)  # noqa: PERF401 - a comprehension would lose them
