"""Long answers after Django is done: a view hands its body over, and no thread and no connection waits with it.

Django's handler keeps a thread, and with it a database connection, for as long as a response lasts. A view that answers
piece by piece, or only when somebody has decided, returns `handed_over(...)` instead: middleware sees an ordinary
response, the handler ends, and `Handover` (around it, in `hitlsite.asgi`) sends the pieces from the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, cast

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse

KEY = "pausepoint.pieces"

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def handed_over(
    request: HttpRequest, pieces: AsyncIterator[bytes], *, content_type: str, headers: Mapping[str, str]
) -> HttpResponse:
    """A response whose body is `pieces`; it begins when all middleware has seen its headers."""
    assert isinstance(request, ASGIRequest), "only an ASGI server can serve this"
    cast("dict[str, Any]", request.scope)[KEY] = pieces
    return HttpResponse(content_type=content_type, headers=dict(headers))


def take_back(request: HttpRequest) -> None:
    """Leave the body out after all: the answer to HEAD has none."""
    if isinstance(request, ASGIRequest):
        cast("dict[str, Any]", request.scope).pop(KEY, None)


class Handover:
    """ASGI application: `app`, and behind its response the pieces that a view has left in the scope."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def pass_on(message: Message) -> None:
            if KEY not in scope:
                await send(message)
            elif message["type"] == "http.response.start":
                starts.append(message)

        await self.app(scope, receive, pass_on)
        pieces = scope.pop(KEY, None)
        if pieces is not None:
            (start,) = starts
            kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": kept})
            await _pour(pieces, receive, send)


async def _pour(pieces: AsyncIterator[bytes], receive: Receive, send: Send) -> None:
    """Send the pieces until they end or the client has gone."""
    pouring = asyncio.ensure_future(_send_all(pieces, send))
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({pouring, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (pouring, leaving):
            task.cancel()
        await asyncio.gather(pouring, leaving, return_exceptions=True)
    if not pouring.cancelled() and (error := pouring.exception()) is not None:
        raise error


async def _send_all(pieces: AsyncIterator[bytes], send: Send) -> None:
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
