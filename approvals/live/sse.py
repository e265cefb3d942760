"""Server-Sent Events (WHATWG HTML, "Server-sent events"): frames, and keep-alive comments between them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator

CONTENT_TYPE = "text/event-stream"
#: Without these headers, a buffering proxy (nginx) or a cache would hold events back.
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
KEEP_ALIVE = b": keep-alive\n\n"
#: Proxies close connections that are silent for 30 to 60 seconds.
HEARTBEAT_SECONDS = 15.0
_BREAK = re.compile(r"[\r\n]")


def frame(data: str, *, event: str = "", event_id: str = "", retry: int = 0) -> bytes:
    """Return one event. `data` must have no line break (JSON has none); empty `event` and `event_id` are left out.

    `retry` is the delay in milliseconds before a client reconnects after the stream breaks.
    """
    assert not _BREAK.search(f"{data}{event}{event_id}")
    named = f"event: {event}\n" if event else ""
    placed = f"id: {event_id}\n" if event_id else ""
    pause = f"retry: {retry}\n" if retry else ""
    return f"{placed}{pause}{named}data: {data}\n\n".encode()


async def with_keep_alive(
    source: AsyncIterator[bytes],
    every: float = HEARTBEAT_SECONDS,
    *,
    beat: bytes = KEEP_ALIVE,
) -> AsyncGenerator[bytes, None]:
    """Yield from `source`, and a comment whenever it was silent for `every` seconds."""
    pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(1)

    async def read() -> None:
        try:
            async for piece in source:
                await pieces.put(piece)
        except Exception as error:
            await pieces.put(error)
        await pieces.put(None)

    # One task for the whole stream, because a timeout must not cancel the source's own wait.
    reading = asyncio.create_task(read())
    try:
        while True:
            try:
                async with asyncio.timeout(every):
                    piece = await pieces.get()
            except TimeoutError:
                yield beat
                continue
            if piece is None:
                return
            if isinstance(piece, Exception):
                raise piece
            yield piece
    finally:
        reading.cancel()
