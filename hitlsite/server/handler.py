"""Handle each HTTP request on one thread, from the first middleware to the last.

Django's own ASGI handler runs every view and each sync middleware on a thread, and everything between them on the event loop: a
request crosses between the two about ten times, and each gets a new thread with a new database connection. All our middleware
and views are sync, so one crossing each way is enough. Long responses leave their bodies to `approvals.live.streaming`, so no
thread waits.

`BodyBound` refuses bodies larger than 8 MB, by declared length and by counting bytes, and addresses and headers that are too
long. It works with any ASGI server. Daphne stores the whole body before it calls the application, so our server
(`hitlsite.server.daphne`) applies the limit while the body arrives.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.db import close_old_connections
from django.http.response import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import set_script_prefix
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from approvals.access.callers import has_token
from approvals.live.streaming import (
    Application,
    Message,
    Receive,
    Send,
    send_until_disconnect,
)

#: Requests that one process handles at a time; others wait. Fewer than its connections (`env.POOL_SIZE`), so that none of
#: these threads waits for one.
THREADS = 16
#: Reads do not queue behind writes, which wait for each other: for SQLite's one writer, or for a locked row.
READS = frozenset({"GET", "HEAD", "OPTIONS"})

#: Middleware without effect on calls with a token, for which cookies do not count (`access.callers`).
FOR_PEOPLE = frozenset(
    {
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "hitlsite.middleware.LanguageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django_htmx.middleware.HtmxMiddleware",
    }
)

_reading = ThreadPoolExecutor(
    max_workers=THREADS // 2, thread_name_prefix="pausepoint-read"
)
_writing = ThreadPoolExecutor(
    max_workers=THREADS // 2, thread_name_prefix="pausepoint-write"
)


class CallHandler(BaseHandler):
    """Respond to calls with a token, without the middleware FOR_PEOPLE. All other middleware is sync, and is used."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        chain = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]
        for path in reversed(settings.MIDDLEWARE):
            if path not in FOR_PEOPLE:
                middleware = import_string(path)(chain)
                if hasattr(middleware, "process_view"):
                    self._view_middleware.insert(0, middleware.process_view)
                if hasattr(middleware, "process_exception"):
                    self._exception_middleware.append(middleware.process_exception)
                chain = convert_exception_to_response(middleware)
        self._middleware_chain = chain


class OneThreadHandler(ASGIHandler):
    """Django's ASGI handler with the middleware of its WSGI handler."""

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)
        self._calls = CallHandler()
        self._calls.load_middleware()

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        pool = _reading if scope["method"] in READS else _writing
        response = await _on_thread(pool, self.respond, scope, body)
        if isinstance(response, StreamingHttpResponse) and response.is_async:
            try:
                await send_until_disconnect(self.send_response(response, send), receive)
            finally:
                await _on_thread(pool, response.close)
        else:
            await self.send_response(response, send)

    def respond(self, scope: dict[str, Any], body: IO[bytes]) -> HttpResponseBase:
        """Return Django's response; closed, with its connections, unless its body is an async stream."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=type(self), scope=scope)
        request, refused = self.create_request(scope, body)
        handler = self._calls if request is not None and has_token(request) else self
        response: Any = refused if request is None else handler.get_response(request)
        body.close()
        response._handler_class = type(self)
        if isinstance(response, StreamingHttpResponse) and response.is_async:
            # Another thread closes the response after sending; this one must not keep its connection until then.
            close_old_connections()
            return response
        with closing(response):
            # Read a file here, because a slow disk would block the event loop.
            return (
                _whole(response)
                if isinstance(response, StreamingHttpResponse)
                else response
            )


def _whole(response: StreamingHttpResponse) -> HttpResponse:
    """Return the response with its content instead of an iterator."""
    whole = HttpResponse(b"".join(response), status=response.status_code)
    whole.headers = response.headers
    whole.cookies = response.cookies
    return whole


async def _on_thread(pool: ThreadPoolExecutor, work: Any, *args: Any) -> Any:
    """Call `work` on a thread of a pool, in a context of its own, so that nothing carries over to the next request."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(
        pool, context.run, work, *args
    )


if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

#: Bytes; `/api/chat` needs most, because clients send the whole conversation every time.
MAX_BODY = 8_000_000

Headers = Iterable[tuple[bytes, bytes]]


def declared_length(headers: Headers) -> int:
    """Return the declared length of a body; 0 if it is absent or invalid."""
    for name, value in headers:
        if name.lower() == b"content-length":
            # Cut, because int() of a million digits is slow.
            return int(value[:18]) if value.isdigit() else 0
    return 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The refusal of requests that exceed a limit."""

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
    _(
        "The URL is longer than 16,000 bytes and was not read. Send long values in the body."
    ),
)
LONG_HEADERS = Bound(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    _("Request Header Fields Too Large"),
    "headers_too_large",
    _(
        "The headers are larger than 16,000 bytes and were not read. Send fewer cookies or shorter headers."
    ),
)


def refusal(
    bound: Bound, headers: Headers = ()
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return headers and body of a refusal: text for a browser, a problem document (RFC 9457) for other clients."""
    accepted = b",".join(value for name, value in headers if name.lower() == b"accept")
    if b"text/html" in accepted:
        kind = b"text/plain; charset=utf-8"
        body = f"{bound.detail}\n".encode()
    else:
        problem = {
            "type": "about:blank",
            "title": str(bound.title),
            "status": bound.status,
            "code": bound.code,
        }
        kind = b"application/problem+json"
        body = json.dumps({**problem, "detail": str(bound.detail)}).encode()
    return [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ], body


class BodyBound:
    """ASGI application: `app`, behind the limit on bodies."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        if declared_length(scope["headers"]) > MAX_BODY:
            await _refuse(scope, send)
            return
        counter = _Counter(receive, send)
        await self.app(scope, counter.receive, counter.send)
        if counter.over and not counter.started:
            await _refuse(scope, send)


class _Counter:
    """Pass a body on until it is too large; from then on, the application sees a disconnect."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
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
    await send(
        {"type": "http.response.start", "status": LARGE_BODY.status, "headers": headers}
    )
    await send({"type": "http.response.body", "body": body})
