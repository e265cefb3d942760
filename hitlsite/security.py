"""Middleware that protects every page: log-in, a strict Content Security Policy, no caching, no NUL characters."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.utils.translation import gettext as _

from approvals.access import activity, callers
from approvals.exceptions import NotFound
from approvals.http import problem, referring_address, refusal_page

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)


#: No page uses these parts of a device.
PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer", "microphone", "midi",
        "payment", "usb",
    )
)  # fmt: skip


class ContentSecurityPolicyMiddleware:
    """Sets the headers that restrict what a page may do and who may load it: Django 5.2 has no setting for them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        # Pages of other sites cannot embed a response; CORS_ALLOWED_ORIGINS is about scripts that read one.
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response


class CacheControlMiddleware:
    """Keeps responses out of the caches of proxies and browsers, unless the view says otherwise."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class LoginRequired(LoginRequiredMiddleware):
    """Django's middleware, but API clients get JSON, and htmx loads the log-in page instead of showing it inside a card."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if callers.is_for_machines(request.path):
            if getattr(request, "caller", None) is not None or not getattr(view_func, "login_required", True):
                return None
            if not _opens_api_page(request):
                return refusal_page(request, callers.refusal_for_unknown(request))
        refused: HttpResponseBase | None = super().process_view(request, view_func, view_args, view_kwargs)
        # Only where the log-in was checked anyway: elsewhere it would be read for this alone.
        if refused is None and getattr(view_func, "login_required", True) and request.session.session_key:
            activity.note_session(request.session.session_key)
        # The address of a form is not a page: the log-in leads back to the page that sent it.
        if refused is not None and request.headers.get("HX-Request"):
            return HttpResponse(status=401, headers={"HX-Redirect": _login_from(request)})
        if refused is not None and request.method not in {"GET", "HEAD"}:
            return redirect(_login_from(request))
        return refused


def _login_from(request: HttpRequest) -> str:
    """Return the address of the log-in page, which leads back to the page that sent this request."""
    page = urlsplit(referring_address(request))
    query = urlencode({"next": urlunsplit(("", "", page.path, page.query, ""))}) if page.path else ""
    return resolve_url("account_login") + (f"?{query}" if query else "")


def _opens_api_page(request: HttpRequest) -> bool:
    """Return whether a browser, which says that it reads HTML, opens the page that explains the API."""
    named = request.resolver_match.view_name if request.resolver_match is not None else ""
    return named == "api:index" and "text/html" in request.headers.get("Accept", "")


class WrongMethodPage:
    """Says in words that an address takes only what a form sends, in place of Django's empty page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.content:
            return response
        message = _("This address only accepts forms. Go back and press the button again.")
        page = problem(request, HTTPStatus.METHOD_NOT_ALLOWED, message, "method_not_allowed")
        # The headers of the others that have handled the response stay.
        response.content = page.content
        response.headers["Content-Type"] = page.headers["Content-Type"]
        return response


class RefuseNul:
    """Refuses NULs in addresses, which PostgreSQL refuses even in queries; in the admin, which passes everything to the
    database unchecked, in all that is sent, and impossible keys too.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if any("\0" in value for value in view_kwargs.values() if isinstance(value, str)):
            return refusal_page(request, NotFound())
        if request.resolver_match is None or "admin" not in request.resolver_match.namespaces:
            return None
        values = [
            text for sent in (request.GET, request.POST) for name, texts in sent.lists() for text in (name, *texts)
        ]
        if any("\0" in text for text in values):
            message = _("The request contains a NUL character. Remove it and try again.")
            return problem(request, HTTPStatus.BAD_REQUEST, message, "impossible_text")
        model_admin = getattr(view_func, "model_admin", None)
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        if model_admin is not None and not all(_may_be_key(model_admin.opts.pk, text) for text in chosen):
            message = _("The selected row is not in this list. Go back, reload the list, and select again.")
            return problem(request, HTTPStatus.BAD_REQUEST, message, "impossible_selection")
        return None


def _may_be_key(field: Any, text: str) -> bool:
    """Return whether `field` can hold this value."""
    try:
        field.run_validators(field.to_python(text))
    except ValidationError:
        return False
    return bool(text)
