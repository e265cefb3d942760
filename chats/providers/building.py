"""Where a request is built: outside of the event loop if it is large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from chats.agent.files import count_files
from chats.agent.provider import ModelRequest

Built = TypeVar("Built")


async def build(request: ModelRequest, make: Callable[[], Built]) -> Built:
    """Return what `make` makes of a request; in a thread if the request has files, because these are megabytes."""
    return await asyncio.to_thread(make) if count_files(request.messages) else make()
