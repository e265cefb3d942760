"""Build large requests outside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from chats.agent.files import count_files
from chats.agent.provider import ModelRequest

Built = TypeVar("Built")


async def build(request: ModelRequest, make: Callable[[], Built]) -> Built:
    """Return the result of `make`; it runs in a thread if the request has files, because these are megabytes."""
    return await asyncio.to_thread(make) if count_files(request.messages) else make()
