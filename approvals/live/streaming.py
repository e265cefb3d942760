"""Send long responses after Django's handler has ended, so that they hold no thread and no database connection.

Django's handler keeps a thread, and with it a database connection, for as long as a response lasts. A streaming view returns
`streamed_response(...)` instead, and a view that waits for a decision `deferred_response(...)`: middleware sees an ordinary
response, the handler ends, and `DetachedBodies` (around it, in `hitlsite.asgi`) sends the body from the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse

KEY = "pausepoint.pieces"
LATER = "pausepoint.later"

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def streamed_response(
    request: HttpRequest,
    pieces: AsyncIterator[bytes],
    *,
    content_type: str,
    headers: Mapping[str, str],
) -> HttpResponse:
    """Return a response whose body is `pieces`, which are read after all middleware has processed the headers."""
    _scope_of(request)[KEY] = pieces
    return HttpResponse(content_type=content_type, headers=dict(headers))


def deferred_response(
    request: HttpRequest, answer: Callable[[], Awaitable[HttpResponse]]
) -> HttpResponse:
    """Return a response with status, headers and body from `answer`, plus the headers that middleware adds.

    `answer` is cancelled when the client disconnects first.
    """
    _scope_of(request)[LATER] = answer
    return HttpResponse()


def _scope_of(request: HttpRequest) -> dict[str, Any]:
    assert isinstance(request, ASGIRequest), "only an ASGI server can serve this"
    return cast("dict[str, Any]", request.scope)


def discard_body(request: HttpRequest) -> None:
    """Drop a streamed or deferred body: for HEAD, and for errors."""
    if isinstance(request, ASGIRequest):
        for name in (KEY, LATER):
            _scope_of(request).pop(name, None)


class DetachedBodies:
    """ASGI application: `app`, followed by the body that a view left in the scope."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        starts: list[Message] = []

        async def pass_on(message: Message) -> None:
            if KEY not in scope and LATER not in scope:
                await send(message)
            elif message["type"] == "http.response.start":
                starts.append(message)

        await self.app(scope, receive, pass_on)
        pieces = scope.pop(KEY, None)
        answer = scope.pop(LATER, None)
        if pieces is not None:
            await send(_without(starts[0], b"content-length"))
            await send_until_disconnect(_send_all(pieces, send), receive)
        elif answer is not None:
            await send_until_disconnect(_send_later(answer, starts[0], send), receive)


async def send_until_disconnect(
    sending: Coroutine[Any, Any, None], receive: Receive
) -> None:
    """Send until everything is sent or the client disconnects."""
    sending_task = asyncio.ensure_future(sending)
    disconnect = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait(
            {sending_task, disconnect}, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for task in (sending_task, disconnect):
            task.cancel()
        await asyncio.gather(sending_task, disconnect, return_exceptions=True)
    if not sending_task.cancelled() and (error := sending_task.exception()) is not None:
        raise error


async def _send_later(
    answer: Callable[[], Awaitable[HttpResponse]], start: Message, send: Send
) -> None:
    response = await answer()
    own = [
        (name.lower().encode("ascii"), value.encode("latin-1"))
        for name, value in response.items()
    ]
    kept = _without(start, b"content-length", *(name for name, _ in own))["headers"]
    await send({**start, "status": response.status_code, "headers": [*kept, *own]})
    await send({"type": "http.response.body", "body": response.content})


def _without(start: Message, *names: bytes) -> Message:
    return {
        **start,
        "headers": [
            (name, value)
            for name, value in start["headers"]
            if name.lower() not in names
        ],
    }


async def _send_all(pieces: AsyncIterator[bytes], send: Send) -> None:
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
