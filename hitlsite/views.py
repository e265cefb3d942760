"""Pages that belong to no app: navigation, and errors in plain words."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import Any

from django.apps import apps
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
from approvals.runtime import database
from hitlsite.server.outages import unavailable

WORDS = {
    HTTPStatus.BAD_REQUEST: _("The request is invalid. Go back, reload the page, and try again."),
    HTTPStatus.FORBIDDEN: _("You do not have permission to do this. Ask an administrator, or log in as another user."),
    HTTPStatus.NOT_FOUND: _("Page not found. It may not exist, or you may not have access."),
    HTTPStatus.INTERNAL_SERVER_ERROR: _("Something went wrong. The error was logged, and no recorded data was lost."),
}


#: What scripts show, in the language of the page.
script_words = login_not_required(cache_control(max_age=3600)(JavaScriptCatalog.as_view()))


def navigation(request: HttpRequest) -> dict[str, Any]:
    """For every page: which apps there are, and which provider speaks."""
    return {
        "has_chats": apps.is_installed("chats"),
        "provider": settings.HITL_PROVIDER,
        "model": settings.HITL_MODEL,
        "debug": settings.DEBUG,
    }


def problem(request: HttpRequest, status: HTTPStatus, words: str = "", code: str = "") -> HttpResponse:
    """An error page, or what it is to a fragment and to a machine."""
    return http.problem(request, status, words or str(WORDS[status]), code or status.name.lower())


@login_not_required
def favicon(request: HttpRequest) -> HttpResponse:
    """For pages that do not name our icon, such as the admin's."""
    return redirect(static("pausepoint/icon.svg"))


def nowhere(request: HttpRequest, address: str) -> HttpResponse:
    """No page has this address; the one with a slash behind it might."""
    if request.method in {"GET", "HEAD"} and not address.endswith("/"):
        try:
            found = resolve(f"/{address}/")
        except Resolver404:
            found = None
        if found is not None and found.func is not nowhere:
            return redirect(f"/{address}/")
    return problem(request, HTTPStatus.NOT_FOUND)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, HTTPStatus.BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, HTTPStatus.FORBIDDEN)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    if isinstance(sys.exc_info()[1], database.AWAY):
        return unavailable(request)
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """For allauth's limits, all of which have the same window (ACCOUNT_RATE_LIMITS)."""
    seconds: int = settings.LIMIT_SECONDS
    words = _("Too many attempts. Wait %(minutes)d minutes, then try again.") % {"minutes": seconds // 60}
    response = problem(request, HTTPStatus.TOO_MANY_REQUESTS, words, "too_many_requests")
    response.headers["Retry-After"] = str(seconds)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    words = gettext("This form has expired or came from another site. Reload the page and try again.")
    return problem(request, HTTPStatus.FORBIDDEN, words, "csrf")
