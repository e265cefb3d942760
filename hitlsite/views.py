"""Pages outside the apps: error pages and the icon."""

from __future__ import annotations

import sys
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import Resolver404, resolve
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from django.views.i18n import JavaScriptCatalog

from approvals import http
from approvals.db import pool
from hitlsite.server.outages import unavailable

WORDS = {
    HTTPStatus.BAD_REQUEST: _(
        "The request is invalid. Go back, reload the page, and try again."
    ),
    HTTPStatus.FORBIDDEN: _(
        "You do not have permission to do this. Ask an administrator, or log in as another user."
    ),
    HTTPStatus.NOT_FOUND: _(
        "Page not found. It may not exist, or you may not have access."
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: _(
        "Something went wrong. The error was logged, and no recorded data was lost."
    ),
}


#: Translations of texts that scripts show.
script_words = login_not_required(
    cache_control(max_age=3600)(JavaScriptCatalog.as_view())
)


def problem(
    request: HttpRequest, status: HTTPStatus, detail: str = "", code: str = ""
) -> HttpResponse:
    """Return an error page, or its form for htmx and for API clients."""
    return http.problem(
        request, status, detail or str(WORDS[status]), code or status.name.lower()
    )


@login_not_required
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to our icon, for pages that do not link it, such as the admin's."""
    return redirect(static("pausepoint/icon.svg"))


def unknown_address(request: HttpRequest, address: str) -> HttpResponse:
    """Respond with 404, or redirect if there is a page at this address with a slash added."""
    if request.method in {"GET", "HEAD"} and not address.endswith("/"):
        try:
            match = resolve(f"/{address}/")
        except Resolver404:
            match = None
        if match is not None and match.func is not unknown_address:
            return redirect(f"/{address}/")
    return problem(request, HTTPStatus.NOT_FOUND)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, HTTPStatus.BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, HTTPStatus.FORBIDDEN)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    error = sys.exc_info()[1]
    if isinstance(error, pool.AWAY):
        return unavailable(request, error)
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """Respond for allauth's rate limits, which all have the same window (ACCOUNT_RATE_LIMITS)."""
    seconds: int = settings.LIMIT_SECONDS
    message = _("Too many attempts. Wait %(minutes)d minutes, then try again.") % {
        "minutes": seconds // 60
    }
    response = problem(
        request, HTTPStatus.TOO_MANY_REQUESTS, message, "too_many_requests"
    )
    response.headers["Retry-After"] = str(seconds)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    message = gettext(
        "This form has expired or came from another site. Reload the page and try again."
    )
    return problem(request, HTTPStatus.FORBIDDEN, message, "csrf")
