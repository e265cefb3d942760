"""Responses of views: pages for people, documents for programs, and refusals for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.utils.http import (
    content_disposition_header,
    quote_etag,
    url_has_allowed_host_and_scheme,
)
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals.access.callers import is_for_machines, is_scim
from approvals.access.standing import Standing
from approvals.exceptions import NotFound, Refusal
from approvals.models import Preferences
from approvals.models.actors import SessionActor
from approvals.queries.preferences import PageState
from approvals.text.file_types import TEXT
from approvals.text.translation import title_of

P = ParamSpec("P")
V = TypeVar("V", bound=Callable[..., HttpResponse])


class SignedIn(HttpRequest):
    """A request of a logged-in person, as guaranteed by LoginRequiredMiddleware."""

    user: User
    #: Read for every page by `hitlsite.middleware.LanguageMiddleware`.
    preferences: Preferences
    state: PageState
    standing: Standing


View = Callable[Concatenate[SignedIn, P], HttpResponse]


def actor_of(request: SignedIn) -> SessionActor:
    """Return the actor on a page, with the session: after losing it while waiting for a lock, they must not act."""
    return SessionActor(request.user, request.session.session_key or "")


def require_safe_or_POST(view: V) -> V:
    """Refuse other methods, like Django's `require_safe`, on a page whose form is posted to itself."""
    return require_http_methods(["GET", "HEAD", "POST"])(view)


def refusals_as_pages(view: View[P]) -> Callable[..., HttpResponse]:
    """Turn a refusal raised by the view into a page with its status and text."""

    @wraps(view)
    def wrapped(request: Any, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Http404:
            # The same page for every reason, and with DEBUG too.
            text = _("Page not found. It may not exist, or you may not have access.")
            return refusal_page(request, NotFound(text))
        except Refusal as refusal:
            return refusal_page(request, refusal)

    return wrapped


def refusal_page(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return the response for a refusal."""
    response = problem(
        request,
        HTTPStatus(refusal.status),
        str(refusal),
        refusal.code,
        refusal.members(),
    )
    for name, value in refusal.headers().items():
        response.headers[name] = value
    return response


def problem(
    request: HttpRequest,
    status: HTTPStatus,
    detail: str,
    code: str,
    members: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Return an error as a page, as a line above an htmx form, or as a problem document (RFC 9457) for programs."""
    context = {"title": title_of(status), "status": status.value, "detail": detail}
    best = request.get_preferred_type(["text/html", "application/json"])
    if is_scim(request.path):
        return scim_error(status, detail)
    if is_for_machines(request.path) or best == "application/json":
        body = {"type": "about:blank", **context, "code": code, **(members or {})}
        response: HttpResponse = JsonResponse(
            body, status=status, content_type="application/problem+json"
        )
        if status == HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response
    fragment = request.headers.get("HX-Request")
    # A request refused before the middleware ran has no user to show in the navigation.
    shown_to = request if hasattr(request, "user") else None
    page = render_to_string(
        "_problem.html" if fragment else "problem.html", context, shown_to
    )
    response = HttpResponse(page, status=status)
    if fragment:
        # Above the form, not in its place, so that the input stays.
        response.headers["HX-Reswap"] = "beforebegin"
    return response


def scim_error(status: HTTPStatus, detail: str) -> HttpResponse:
    """Return an error in the form of SCIM (RFC 7644)."""
    body = {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
        "status": str(status.value),
        "detail": detail,
    }
    response = JsonResponse(body, status=status, content_type="application/scim+json")
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def file_response(
    request: HttpRequest,
    media_type: str,
    name: str,
    digest: str,
    read: Callable[[], bytes],
) -> HttpResponse:
    """Return an uploaded file with exactly its checked type; it is read only for clients without a cached copy.

    Pictures and plain text are shown, other types are downloaded. No active content in a file may run.
    """
    shown = media_type.startswith("image/") or media_type == TEXT
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    response = HttpResponse(content_type=media_type + charset)
    response.headers["ETag"] = quote_etag(digest)
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; sandbox; frame-ancestors 'none'"
    )
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["Content-Disposition"] = (
        content_disposition_header(not shown, name) or "inline"
    )
    answer = get_conditional_response(
        request, etag=response.headers["ETag"], response=response
    )
    if answer is response:
        response.content = read()
    return answer or response


def refusal_of(act: Callable[[], Any]) -> Refusal | None:
    """Call `act` and return its refusal, to be shown beside the form; None if it succeeded. Raise NotFound."""
    try:
        act()
    except NotFound:
        raise
    except Refusal as refusal:
        return refusal
    return None


def sent_address(request: SignedIn, name: str) -> str:
    """Return the address in a form field if it is on this site; empty otherwise."""
    return _on_this_site(request, request.POST.get(name, ""))


def referring_address(request: HttpRequest) -> str:
    """Return the address, on this site, of the page with the form; empty if the browser does not send it."""
    return _on_this_site(request, request.headers.get("Referer", ""))


def _on_this_site(request: HttpRequest, target: str) -> str:
    same_site = url_has_allowed_host_and_scheme(
        target, {request.get_host()}, require_https=request.is_secure()
    )
    return target if same_site else ""
