"""Middleware for every page: log-in, a strict Content Security Policy, no caching, no NUL characters, language and time zone.

And the context of every page, which uses what the middleware has read.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.apps import apps
from django.conf import settings
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from django.utils.translation import override

from approvals.access import callers, permissions, sessions
from approvals.access.callers import is_for_machines
from approvals.access.factors import lacking, stopped
from approvals.access.rights import DECIDE
from approvals.access.standing import NOBODY
from approvals.administration.guards import lead_to_log_in
from approvals.exceptions import FactorMissing, NotFound
from approvals.http import SignedIn, problem, referring_address, refusal_page
from approvals.queries.preferences import (
    language_of,
    page_state,
    preferences_of,
    zone_of,
)
from hitlsite.demo.people import ways_in

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)


#: Device features that no page uses.
PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer", "microphone", "midi",
        "payment", "usb",
    )
)  # fmt: skip


#: Pages, besides those of factors and passwords, for people who have to set up a second factor.
OPEN_WITHOUT_FACTOR = {
    "logout",
    "admin:logout",
    "single_sign_on",
    "single_sign_on_callback",
}


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Set headers that restrict pages and their embedding, for which Django 5.2 has no setting."""

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        # Pages of other sites cannot embed a response; CORS_ALLOWED_ORIGINS is about scripts that read one.
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class CacheControlMiddleware(MiddlewareMixin):
    """Keep responses out of the caches of proxies and browsers, unless the view says otherwise."""

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class LoginRequired(LoginRequiredMiddleware):
    """Django's middleware, except that API clients get JSON, and htmx loads the log-in page instead of embedding it in a card."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: Any,
        view_kwargs: Any,
    ) -> HttpResponseBase | None:
        if callers.is_for_machines(request.path):
            caller = getattr(request, "caller", None)
            if caller is not None:
                if caller.by_session:
                    sessions.note_use(caller.session_key)
                kept_out = stopped({caller.user.pk})
                return refusal_page(request, FactorMissing()) if kept_out else None
            if not getattr(view_func, "login_required", True):
                return None
            if not _opens_api_page(request):
                return refusal_page(request, callers.refusal_for_unknown(request))
        refused: HttpResponseBase | None = super().process_view(
            request, view_func, view_args, view_kwargs
        )
        if refused is None:
            # Only where the log-in was checked anyway: elsewhere the user would be read just for this.
            checked = getattr(view_func, "login_required", True)
            if not checked or not request.session.session_key:
                return None
            sessions.note_use(request.session.session_key)
            return _led_elsewhere(request)
        if why := sessions.why_ended(
            request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        ):
            messages.warning(request, why)
        # The address of a form is not a page: after log-in, return to the page that sent it.
        if request.headers.get("HX-Request"):
            return HttpResponse(
                status=401, headers={"HX-Redirect": _login_from(request)}
            )
        if request.method not in {"GET", "HEAD"}:
            return redirect(_login_from(request))
        return refused


def _led_elsewhere(request: HttpRequest) -> HttpResponse | None:
    """Return the response to someone who first has to set up a second factor, or to log in again for Django's admin."""
    match = request.resolver_match
    name = match.view_name if match is not None else ""
    if name.startswith(("mfa_", "account_")) or name in OPEN_WITHOUT_FACTOR:
        return None
    if stopped({request.user.pk or 0}):
        if request.headers.get("HX-Request"):
            headers = {"HX-Redirect": resolve_url("mfa_index")}
            return HttpResponse(status=HTTPStatus.FORBIDDEN, headers=headers)
        return redirect("mfa_index")
    opens_admin = match is not None and "admin" in match.namespaces
    return lead_to_log_in(request) if opens_admin and request.user.is_staff else None


def _login_from(request: HttpRequest) -> str:
    """Return the address of the log-in page, which returns to the page that sent this request."""
    page = urlsplit(referring_address(request))
    query = (
        urlencode({"next": urlunsplit(("", "", page.path, page.query, ""))})
        if page.path
        else ""
    )
    return resolve_url("account_login") + (f"?{query}" if query else "")


def _opens_api_page(request: HttpRequest) -> bool:
    """Return whether a browser (one that accepts HTML) is opening the API page."""
    named = (
        request.resolver_match.view_name if request.resolver_match is not None else ""
    )
    return named == "api:index" and "text/html" in request.headers.get("Accept", "")


class WrongMethodPage(MiddlewareMixin):
    """Replace Django's empty page for a wrong method by one saying that the address only accepts form submissions."""

    def process_response(
        self, request: HttpRequest, response: HttpResponse
    ) -> HttpResponse:
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.content:
            return response
        message = _(
            "This address only accepts forms. Go back and press the button again."
        )
        page = problem(
            request, HTTPStatus.METHOD_NOT_ALLOWED, message, "method_not_allowed"
        )
        # Keep the headers of other middleware that has handled the response.
        response.content = page.content
        response.headers["Content-Type"] = page.headers["Content-Type"]
        return response


class RefuseNul(MiddlewareMixin):
    """Refuse NULs in addresses, which PostgreSQL refuses even in queries. In the admin, which passes input to the database
    unchecked, refuse them in all data, and impossible keys too.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: Any,
        view_kwargs: Any,
    ) -> HttpResponseBase | None:
        if any(
            "\0" in value for value in view_kwargs.values() if isinstance(value, str)
        ):
            return refusal_page(request, NotFound())
        if (
            request.resolver_match is None
            or "admin" not in request.resolver_match.namespaces
        ):
            return None
        values = [
            text
            for sent in (request.GET, request.POST)
            for name, texts in sent.lists()
            for text in (name, *texts)
        ]
        if any("\0" in text for text in values):
            message = _(
                "The request contains a NUL character. Remove it and try again."
            )
            return problem(request, HTTPStatus.BAD_REQUEST, message, "impossible_text")
        model_admin = getattr(view_func, "model_admin", None)
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if model_admin is not None and not all(
            _may_be_key(model_admin.opts.pk, text) for text in chosen
        ):
            message = _(
                "The selected row is not in this list. Go back, reload the list, and select again."
            )
            return problem(
                request, HTTPStatus.BAD_REQUEST, message, "impossible_selection"
            )
        return None


def _may_be_key(field: Any, text: str) -> bool:
    """Return whether `field` can hold this value."""
    try:
        field.run_validators(field.to_python(text))
    except ValidationError:
        return False
    return bool(text)


class LanguageMiddleware(MiddlewareMixin):
    """Activate the language and time zone of a page's user, both from the same row of preferences.

    Django's own middleware uses the browser's language, and offers only languages that Django itself is translated into.
    """

    #: It encloses the call, in the thread of the request.
    async_capable = False
    get_response: Callable[[HttpRequest], HttpResponse]

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_machines(request.path) or not request.user.is_authenticated:
            return self.get_response(request)
        page = cast(SignedIn, request)
        page.state = page_state(page.user)
        page.preferences = page.state.preferences
        page.standing = page.state.standing
        language = language_of(page.preferences)
        with override(language), timezone.override(zone_of(page.preferences)):
            response = self.get_response(page)
        if len(settings.HITL_LANGUAGES) > 1:
            response.headers.setdefault("Content-Language", language)
        return response


#: The section of a page, by address prefix.
SECTIONS = {
    "requests": "inbox",
    "workflows": "inbox",
    "chats": "chats",
    "audit": "audit",
    "insights": "insights",
}


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the context of every page: the installed apps, the model provider, and the person's display preferences."""
    # API clients and logged-out visitors have none.
    standing = getattr(request, "standing", NOBODY)
    return {
        "standing": standing,
        "preferences": SimpleLazyObject(
            lambda: (
                getattr(request, "preferences", None) or preferences_of(request.user)
            )
        ),
        "page_state": getattr(request, "state", None),
        "section": SECTIONS.get(request.path.split("/")[1], ""),
        "has_chats": apps.is_installed("chats"),
        "provider": settings.HITL_PROVIDER,
        "model": settings.HITL_MODEL,
        # For the log-in page alone.
        "demo": SimpleLazyObject(ways_in),
        # Until the day from which it is needed; then the pages lead there.
        "factor_due": SimpleLazyObject(lambda: bool(lacking({standing.pk}))),
        "factor_from": settings.SECOND_FACTOR_FROM,
        "administers": permissions.may_administer(standing),
        "decides_some": DECIDE in standing.rights,
        # For the link to the audit page, which people limited by scopes do not have.
        "reads_record": permissions.reads_record(standing),
        "session_mark": SimpleLazyObject(lambda: _mark_of(request)),
    }


def _mark_of(request: HttpRequest) -> str:
    """Return a mark that distinguishes sessions in the same browser, without revealing the session key."""
    # Calls with a token have no session; one of them shows a page, about the API.
    has_session = not callers.has_token(request)
    key = (has_session and request.session.session_key) or ""
    return salted_hmac("hitlsite.session_mark", key, algorithm="sha256").hexdigest()[
        :16
    ]
