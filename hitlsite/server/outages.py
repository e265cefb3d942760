"""Respond with 503 and a request to retry while the database is away or a row stays locked, to people and API clients.

With DEBUG, API clients also get a problem document for any other error.
"""

from __future__ import annotations

import json
import logging
import sys
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.signals import got_request_exception
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import get_resolver
from django.utils.deprecation import MiddlewareMixin
from django.utils.log import log_response
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.debug import ExceptionReporter

from approvals.access.callers import is_for_machines
from approvals.db import pool
from approvals.live.streaming import Application, Message, Receive, Send, discard_body

logger = logging.getLogger(__name__)

#: Seconds after which clients should retry; fewer if only a row is locked.
RETRY_AFTER = 5
RETRY_LOCKED_AFTER = 1
STATUS = HTTPStatus.SERVICE_UNAVAILABLE
OUTAGE_ATTRIBUTE = "_met_outage"


class OutageMiddleware(MiddlewareMixin):
    """Respond with 503 while the database is away. Must be outside all middleware that reads the database."""

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        # An error in middleware has become a 500 here, or with DEBUG a page of code.
        error = getattr(request, OUTAGE_ATTRIBUTE, None)
        return response if error is None else unavailable(request, error)

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Handle an error of a view before Django logs it with a traceback."""
        if isinstance(exception, pool.AWAY):
            _log(request, exception)
            return unavailable(request, exception)
        if settings.DEBUG and is_for_machines(request.path):
            # Django would answer with its page of code, which programs cannot read.
            response: HttpResponse = get_resolver().resolve_error_handler(500)(request)
            log_response(
                "%s: %s",
                response.reason_phrase,
                request.path,
                response=response,
                request=request,
                exception=exception,
            )
            return response
        return None


class _NoReport(ExceptionReporter):
    """Replace the DEBUG page, which would evaluate querysets while the database is away."""

    def get_traceback_html(self) -> SafeString:
        return SafeString("")

    def get_traceback_text(self) -> SafeString:
        return SafeString("")


@receiver(got_request_exception, dispatch_uid="hitlsite.server.outages")
def record_outage(
    sender: Any, request: HttpRequest | None = None, **kwargs: Any
) -> None:
    error = sys.exc_info()[1]
    if request is not None and isinstance(error, pool.AWAY):
        _log(request, error)
        setattr(request, OUTAGE_ATTRIBUTE, error)
        request.exception_reporter_class = _NoReport


def _log(request: HttpRequest, error: BaseException) -> None:
    logger.warning(
        "%r is answered with a 503: %s (%s)",
        request.path,
        _cause(error),
        str(error).strip(),
    )


def _cause(error: BaseException) -> str:
    return "a row stays locked" if pool.is_locked(error) else "the database is away"


def unavailable(request: HttpRequest, error: BaseException) -> HttpResponse:
    """Return the 503 as a page, as a line above the submitted form, or as a problem document, without using the database."""
    discard_body(request)
    best = request.get_preferred_type(["text/html", "application/json"])
    if is_for_machines(request.path) or best == "application/json":
        response = HttpResponse(
            document(error), status=STATUS, content_type="application/problem+json"
        )
    else:
        fragment = request.headers.get("HX-Request")
        context = {
            "title": _("Back in a moment"),
            "status": STATUS.value,
            "detail": words(error),
        }
        # Without the request, whose user would be read from the database.
        page = render_to_string(
            "_problem.html" if fragment else "unavailable.html", context
        )
        response = HttpResponse(page, status=STATUS)
        if fragment:
            response.headers["HX-Reswap"] = "beforebegin"
    response.headers["Retry-After"] = str(retry_after(error))
    response.headers["Cache-Control"] = "no-store"
    # Already logged, in one line.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def retry_after(error: BaseException) -> int:
    return RETRY_LOCKED_AFTER if pool.is_locked(error) else RETRY_AFTER


def words(error: BaseException) -> str:
    if pool.is_locked(error):
        return _(
            "Someone else is still changing this. Your change was not made. Try again in a moment."
        )
    return _(
        "The database is not responding. No recorded data is lost. Try again in a moment."
    )


def document(error: BaseException) -> bytes:
    """Return the problem document (RFC 9457)."""
    problem = {
        "type": "about:blank",
        "title": STATUS.phrase,
        "status": STATUS.value,
        "code": "unavailable",
    }
    return json.dumps({**problem, "detail": words(error)}).encode()


class Outages:
    """ASGI application: `app`, and the same 503 for responses sent after Django has handled the request."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        started = False

        async def pass_on(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, pass_on)
        except pool.AWAY as error:
            if started:
                raise
            logger.warning(
                "A long poll is answered with a 503: %s (%s)", _cause(error), error
            )
            body = document(error)
            headers = [
                (b"content-type", b"application/problem+json"),
                (b"content-length", str(len(body)).encode()),
                (b"retry-after", str(retry_after(error)).encode()),
                (b"cache-control", b"no-store"),
            ]
            await send(
                {
                    "type": "http.response.start",
                    "status": STATUS.value,
                    "headers": headers,
                }
            )
            await send({"type": "http.response.body", "body": body})
