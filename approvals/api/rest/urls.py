"""URLs of the API, version 1: ninja's views, the OpenAPI document, and a page that shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, wraps
from http import HTTPMethod, HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.operation import Operation

from approvals.api.rest import (
    absence,
    advice,
    attachments,
    grants,
    people,
    record,
    requests,
    resuming,
    rules,
    scopes,
    workflows,
)
from approvals.api.rest.openapi import completed, operations
from approvals.api.rest.operations import Bearer, refuse_in_our_words
from approvals.http import problem
from approvals.live.streaming import discard_body

app_name = "api"


class DeskAPI(NinjaAPI):
    """Name operations after their functions."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = DeskAPI(
    title="Pausepoint",
    version="1",
    description="Agents ask, people answer. Errors are problem documents (RFC 9457) with a stable `code`.",
    auth=Bearer(),
    docs_url=None,
    openapi_url=None,
    urls_namespace=app_name,
)
refuse_in_our_words(api)
for room in (
    requests,
    attachments,
    resuming,
    people,
    advice,
    grants,
    scopes,
    rules,
    absence,
    workflows,
    record,
):
    api.add_router("", room.router)


@cache
def _document(public_url: str) -> bytes:
    return json.dumps(
        completed(api.get_openapi_schema(path_prefix=reverse("api:index")), public_url)
    ).encode()


def schema() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return dict(json.loads(_document(settings.PUBLIC_URL)))


@login_not_required
def openapi(request: HttpRequest) -> HttpResponse:
    """Respond with the OpenAPI document, without authentication: it reveals nothing about this installation."""
    return HttpResponse(_document(settings.PUBLIC_URL), content_type="application/json")


def index(request: HttpRequest) -> HttpResponse:
    """Show a page that explains the operations, and lets a person try them."""
    document = schema()
    site = request.build_absolute_uri("/").removesuffix("/")
    context = {"info": document["info"], "operations": operations(document, site)}
    return render(request, "approvals/api/page.html", context)


def mannered(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer HEAD and OPTIONS, refuse other methods in JSON, and check CSRF for sessions."""

    @wraps(view)
    def wrapped(request: HttpRequest, **captured: Any) -> HttpResponse:
        method = request.method
        request.method = HTTPMethod.GET if method == HTTPMethod.HEAD else method
        response = view(request, **captured)
        request.method = method
        if method == HTTPMethod.HEAD:
            discard_body(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return response
        known = set(response.headers["Allow"].split(", "))
        allowed = ", ".join(
            sorted(known | {"OPTIONS"} | ({"HEAD"} if "GET" in known else set()))
        )
        if method == HTTPMethod.OPTIONS:
            return HttpResponse(
                status=HTTPStatus.NO_CONTENT, headers={"Allow": allowed}
            )
        message = _("This URL only accepts %(allowed)s.") % {"allowed": allowed}
        refused = problem(
            request, HTTPStatus.METHOD_NOT_ALLOWED, message, "method_not_allowed"
        )
        refused.headers["Allow"] = allowed
        return refused

    # ninja exempts every view from CSRF; Django's middleware checks all of ours.
    wrapped.csrf_exempt = False  # type: ignore[attr-defined]
    return wrapped


def _readable(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        if request.method != HTTPMethod.GET:
            return HttpResponse(
                status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET"}
            )
        return view(request)

    return mannered(wrapped)


#: ninja lists a URL once for each of its operations, which share one view, and has its own UUID converter.
_views = {
    str(entry.pattern).replace("<uuidstr:", "<uuid:"): entry
    for entry in api.urls[0]
    if isinstance(entry, URLPattern)
}
urlpatterns = [
    path("", _readable(index), name="index"),
    path("openapi.json", _readable(openapi), name="openapi"),
    *(
        path(route, mannered(entry.callback), name=entry.name)
        for route, entry in _views.items()
        if route
    ),
]
