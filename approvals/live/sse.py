"""Server-Sent Events (WHATWG HTML, "Server-sent events"): frames, and comments while there is nothing to say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

CONTENT_TYPE = "text/event-stream"
#: A proxy that buffers (nginx), or a cache, would keep events from whoever waits for them.
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
KEEP_ALIVE = b": keep-alive\n\n"
#: Proxies close a connection that is silent for a minute; some after half of one.
HEARTBEAT_SECONDS = 15.0


def frame(data: str, *, event: str = "", id: str = "") -> bytes:
    """One event; `data` holds no line break (JSON never does), `event` and `id` are left out where empty."""
    assert not {"\n", "\r"} & {*data, *event, *id}
    named = f"event: {event}\n" if event else ""
    placed = f"id: {id}\n" if id else ""
    return f"{placed}{named}data: {data}\n\n".encode()


async def kept_alive(
    source: AsyncIterator[bytes], every: float = HEARTBEAT_SECONDS, *, beat: bytes = KEEP_ALIVE
) -> AsyncGenerator[bytes, None]:
    """`source`, with a comment whenever it was silent for `every` seconds."""
    waiting: asyncio.Future[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(source))
            done, _ = await asyncio.wait({waiting}, timeout=every)
            if not done:
                yield beat
                continue
            try:
                piece = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            yield piece
    finally:
        if waiting is not None:
            waiting.cancel()
