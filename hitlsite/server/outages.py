"""Respond with a 503 that says to try again while the database is away, to people and to API clients."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.core.signals import got_request_exception
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.debug import ExceptionReporter

from approvals.access.callers import is_for_machines
from approvals.live.streaming import Application, Message, Receive, Send, discard_body
from approvals.runtime import database

logger = logging.getLogger(__name__)

#: Seconds after which clients should try again.
RETRY_AFTER = 5
STATUS = HTTPStatus.SERVICE_UNAVAILABLE
OUTAGE_ATTRIBUTE = "_met_outage"


class OutageMiddleware:
    """Responds with 503 while the database is away. Must be outside all middleware that reads the database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # An error in middleware has become a 500 here, and with DEBUG a page of code.
        return unavailable(request) if getattr(request, OUTAGE_ATTRIBUTE, False) else response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Handle an error of a view before Django logs it with a traceback."""
        if not isinstance(exception, database.AWAY):
            return None
        _log(request, exception)
        return unavailable(request)


class _NoReport(ExceptionReporter):
    """Replaces the DEBUG page, which would evaluate querysets while the database is away."""

    def get_traceback_html(self) -> SafeString:
        return SafeString("")

    def get_traceback_text(self) -> SafeString:
        return SafeString("")


@receiver(got_request_exception, dispatch_uid="hitlsite.server.outages")
def record_outage(sender: Any, request: HttpRequest | None = None, **given: Any) -> None:
    error = sys.exc_info()[1]
    if request is not None and isinstance(error, database.AWAY):
        _log(request, error)
        setattr(request, OUTAGE_ATTRIBUTE, True)
        request.exception_reporter_class = _NoReport


def _log(request: HttpRequest, error: BaseException) -> None:
    logger.warning("%r is answered with a 503: the database is away (%s)", request.path, str(error).strip())


def unavailable(request: HttpRequest) -> HttpResponse:
    """Return the 503 as a page, as a line above the submitted form, or as a problem document, without using the database."""
    discard_body(request)
    best = request.get_preferred_type(["text/html", "application/json"])
    if is_for_machines(request.path) or best == "application/json":
        response = HttpResponse(document(), status=STATUS, content_type="application/problem+json")
    else:
        fragment = request.headers.get("HX-Request")
        context = {"title": _("Back in a moment"), "status": STATUS.value, "detail": words()}
        # Without the request, whose user would be read from the database.
        page = render_to_string("_problem.html" if fragment else "unavailable.html", context)
        response = HttpResponse(page, status=STATUS)
        if fragment:
            response.headers["HX-Reswap"] = "beforebegin"
    response.headers["Retry-After"] = str(RETRY_AFTER)
    response.headers["Cache-Control"] = "no-store"
    # We have logged it in one line.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def words() -> str:
    return _("The database is not responding. No recorded data is lost. Try again in a moment.")


def document() -> bytes:
    """Return the problem document (RFC 9457)."""
    problem = {"type": "about:blank", "title": STATUS.phrase, "status": STATUS.value, "code": "unavailable"}
    return json.dumps({**problem, "detail": words()}).encode()


class Outages:
    """ASGI application: `app`, and the same 503 for responses that are sent after Django has handled the request."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        started = False

        async def pass_on(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, pass_on)
        except database.AWAY as error:
            if started:
                raise
            logger.warning("An answer that was waited for is a 503: the database is away (%s)", error)
            body = document()
            headers = [
                (b"content-type", b"application/problem+json"),
                (b"content-length", str(len(body)).encode()),
                (b"retry-after", str(RETRY_AFTER).encode()),
                (b"cache-control", b"no-store"),
            ]
            await send({"type": "http.response.start", "status": STATUS.value, "headers": headers})
            await send({"type": "http.response.body", "body": body})
