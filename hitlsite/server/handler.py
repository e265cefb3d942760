"""Handle each HTTP request from the first middleware to the last on one thread.

Django's own ASGI handler runs every view and each sync middleware on a thread, and everything between them on the event
loop: a request crosses between the two about ten times, and each gets a new thread with a new database connection. All our
middleware and views are sync, so one crossing there and one back are enough. Long responses leave their bodies to
`approvals.live.streaming`, so no thread waits.
"""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import IO, Any

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

from approvals.access.callers import has_token
from approvals.live.streaming import Receive, Send, send_until_disconnect

#: Requests that one process handles at a time; others wait. Fewer than its connections (`env.POOL_SIZE`), so that none of
#: these threads waits for one.
THREADS = 16
#: Reads do not queue behind writes, which wait for each other: for the one writer of SQLite, or for a row that is locked.
READS = frozenset({"GET", "HEAD", "OPTIONS"})

#: Middleware that does nothing for a call with a token, for which cookies do not count (`access.callers`).
FOR_PEOPLE = frozenset(
    {
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "hitlsite.languages.LanguageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django_htmx.middleware.HtmxMiddleware",
    }
)

_reading = ThreadPoolExecutor(max_workers=THREADS // 2, thread_name_prefix="pausepoint-read")
_writing = ThreadPoolExecutor(max_workers=THREADS // 2, thread_name_prefix="pausepoint-write")


class CallHandler(BaseHandler):
    """Responds to calls with a token, without the middleware FOR_PEOPLE. All other middleware is sync, and is used."""

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

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
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
        """Return the response of Django; closed, with its connections, unless its body is an async stream."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=type(self), scope=scope)
        request, refused = self.create_request(scope, body)
        handler = self._calls if request is not None and has_token(request) else self
        response: Any = refused if request is None else handler.get_response(request)
        body.close()
        response._handler_class = type(self)
        if isinstance(response, StreamingHttpResponse) and response.is_async:
            # Another thread closes the response when it has been sent; this one must not keep its connection until then.
            close_old_connections()
            return response
        with closing(response):
            # A file is read here, because a slow disk would block the event loop.
            return _whole(response) if isinstance(response, StreamingHttpResponse) else response


def _whole(response: StreamingHttpResponse) -> HttpResponse:
    """Return the response with its content instead of an iterator."""
    whole = HttpResponse(b"".join(response), status=response.status_code)
    whole.headers, whole.cookies = response.headers, response.cookies
    return whole


async def _on_thread(pool: ThreadPoolExecutor, work: Any, *args: Any) -> Any:
    """Call `work` on a thread of a pool, in a context of its own: nothing is left to the next request."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(pool, context.run, work, *args)
