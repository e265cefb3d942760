"""Refuse bodies larger than 8 MB, by their declared length and by counting bytes; and addresses and headers that are too long.

`BodyBound` works with any ASGI server. Daphne stores the whole body before it calls the application, so our server
(`hitlsite.server.daphne`) applies the bound while the body arrives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from approvals.live.streaming import Application, Message, Receive, Send

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

#: Bytes; `/api/chat` needs most, because clients send the whole conversation every time.
MAX_BODY = 8_000_000

Headers = Iterable[tuple[bytes, bytes]]


def declared_length(headers: Headers) -> int:
    """Return the declared length of a body; 0 where it is absent or invalid."""
    for name, value in headers:
        if name.lower() == b"content-length":
            # Cut, because int() of a million digits is slow.
            return int(value[:18]) if value.isdigit() else 0
    return 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The refusal of requests that exceed a bound."""

    status: HTTPStatus
    title: StrPromise
    code: str
    detail: StrPromise


LARGE_BODY = Bound(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    _("Content Too Large"),
    "too_large",
    _("The body is larger than 8,000,000 bytes and was not read. Send less at a time."),
)
LONG_ADDRESS = Bound(
    HTTPStatus.REQUEST_URI_TOO_LONG,
    _("URI Too Long"),
    "address_too_long",
    _("The URL is longer than 16,000 bytes and was not read. Send long values in the body."),
)
LONG_HEADERS = Bound(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    _("Request Header Fields Too Large"),
    "headers_too_large",
    _("The headers are larger than 16,000 bytes and were not read. Send fewer cookies or shorter headers."),
)


def refusal(bound: Bound, headers: Headers = ()) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return headers and body of a refusal: text for a browser, a problem document (RFC 9457) for other clients."""
    accepted = b",".join(value for name, value in headers if name.lower() == b"accept")
    if b"text/html" in accepted:
        kind, body = b"text/plain; charset=utf-8", f"{bound.detail}\n".encode()
    else:
        problem = {"type": "about:blank", "title": str(bound.title), "status": bound.status, "code": bound.code}
        kind, body = b"application/problem+json", json.dumps({**problem, "detail": str(bound.detail)}).encode()
    return [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"connection", b"close")], body


class BodyBound:
    """ASGI application: `app`, behind the bound on bodies."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if declared_length(scope["headers"]) > MAX_BODY:
            await _refuse(scope, send)
            return
        counter = _Counter(receive, send)
        await self.app(scope, counter.receive, counter.send)
        if counter.over and not counter.started:
            await _refuse(scope, send)


class _Counter:
    """Passes a body on until it is too large; from then on, the application sees a disconnect."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._read = 0
        self.over = self.started = False

    async def receive(self) -> Message:
        if self.over:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._read += len(message.get("body", b""))
        self.over = self._read > MAX_BODY
        return {"type": "http.disconnect"} if self.over else message

    async def send(self, message: Message) -> None:
        if not self.over or self.started:
            self.started = True
            await self._send(message)


async def _refuse(scope: dict[str, Any], send: Send) -> None:
    headers, body = refusal(LARGE_BODY, scope["headers"])
    await send({"type": "http.response.start", "status": LARGE_BODY.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
