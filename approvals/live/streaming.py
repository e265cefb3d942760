"""Long answers after Django is done: a view hands its body over, and no thread and no connection waits with it.

Django's handler keeps a thread, and with it a database connection, for as long as a response lasts. A view that answers
piece by piece returns `handed_over(...)` instead, one that answers only when somebody has decided `answered_later(...)`:
middleware sees an ordinary response, the handler ends, and `Handover` (around it, in `hitlsite.asgi`) sends the rest from
the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse

KEY, LATER = "pausepoint.pieces", "pausepoint.later"

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def handed_over(
    request: HttpRequest, pieces: AsyncIterator[bytes], *, content_type: str, headers: Mapping[str, str]
) -> HttpResponse:
    """A response whose body is `pieces`; it begins when all middleware has seen its headers."""
    _scope_of(request)[KEY] = pieces
    return HttpResponse(content_type=content_type, headers=dict(headers))


def answered_later(request: HttpRequest, answer: Callable[[], Awaitable[HttpResponse]]) -> HttpResponse:
    """A response that `answer` gives when it is time: its status, headers and body, and what middleware adds to headers.

    `answer` is cancelled when the client leaves first.
    """
    _scope_of(request)[LATER] = answer
    return HttpResponse()


def _scope_of(request: HttpRequest) -> dict[str, Any]:
    assert isinstance(request, ASGIRequest), "only an ASGI server can serve this"
    return cast("dict[str, Any]", request.scope)


def take_back(request: HttpRequest) -> None:
    """Leave the body out after all: the answer to HEAD has none."""
    if isinstance(request, ASGIRequest):
        for name in (KEY, LATER):
            _scope_of(request).pop(name, None)


class Handover:
    """ASGI application: `app`, and behind its response what a view has left in the scope."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def pass_on(message: Message) -> None:
            if KEY not in scope and LATER not in scope:
                await send(message)
            elif message["type"] == "http.response.start":
                starts.append(message)

        await self.app(scope, receive, pass_on)
        pieces, answer = scope.pop(KEY, None), scope.pop(LATER, None)
        if pieces is not None:
            await send(_without(starts[0], b"content-length"))
            await _unless_left(_send_all(pieces, send), receive)
        elif answer is not None:
            await _unless_left(_send_later(answer, starts[0], send), receive)


async def _unless_left(sending: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Send until all is sent or the client has gone."""
    pouring = asyncio.ensure_future(sending)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({pouring, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (pouring, leaving):
            task.cancel()
        await asyncio.gather(pouring, leaving, return_exceptions=True)
    if not pouring.cancelled() and (error := pouring.exception()) is not None:
        raise error


async def _send_later(answer: Callable[[], Awaitable[HttpResponse]], start: Message, send: Send) -> None:
    response = await answer()
    own = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in response.items()]
    kept = _without(start, b"content-length", *(name for name, _ in own))["headers"]
    await send({**start, "status": response.status_code, "headers": [*kept, *own]})
    await send({"type": "http.response.body", "body": response.content})


def _without(start: Message, *names: bytes) -> Message:
    return {**start, "headers": [(name, value) for name, value in start["headers"] if name.lower() not in names]}


async def _send_all(pieces: AsyncIterator[bytes], send: Send) -> None:
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
