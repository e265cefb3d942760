"""Who calls, how far they reach, and what they are told when something is refused."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.security import HttpBearer

from approvals.access.callers import Caller, caller_of
from approvals.exceptions import Invalid, NotAllowed, Refusal
from approvals.http import refusal_page

MAX_ERRORS = 50


class Bearer(HttpBearer):
    """Who calls was found out by `MachineMiddleware`, a browser's session included; this says so in the document.

    An operation that asks is `counted`, before its body is read.
    """

    def __init__(self, *, counted: bool = False) -> None:
        super().__init__()
        self.counted = counted

    def __call__(self, request: HttpRequest) -> Caller:
        caller = caller_of(request)
        if self.counted:
            caller.count_ask()
        return caller

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        return caller_of(request)


def client_of(request: HttpRequest, scope: str) -> Caller:
    """Who calls. NotAuthenticated, ScopeMissing; NotAllowed for a token that is good for one chat only."""
    caller = caller_of(request)
    if caller.thread is not None:
        raise NotAllowed(_("A client token only works for its own chat. Use an API key."))
    caller.require(scope)
    return caller


def problems(*statuses: int, **more: Any) -> dict[str, Any]:
    """For the OpenAPI document: the statuses that an operation refuses with, beside those that all have."""
    shown = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    found = sorted({401, 403, 422, *statuses})
    return {"responses": {n: {"description": HTTPStatus(n).phrase, "content": shown} for n in found} | more}


def refuse_in_our_words(api: NinjaAPI) -> None:
    """Every error of ninja's becomes one of our problem documents."""
    api.add_exception_handler(Refusal, _refused)
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(Exception, _unforeseen)


def _refused(request: HttpRequest, refusal: Any) -> HttpResponse:
    return refusal_page(request, refusal)


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    found = {_path(problem): _words(problem) for problem in reversed(error.errors[:MAX_ERRORS])}
    return refusal_page(request, Invalid(_("The request is invalid."), found))


def _path(problem: Mapping[str, Any]) -> str:
    source, *rest = problem["loc"]
    # The name of our own parameter stands before the fields of a body.
    names = rest[1:] if source == "body" else rest
    return ".".join(map(str, names))[:200]


def _words(problem: Mapping[str, Any]) -> str:
    return str(problem["msg"]).removeprefix("Value error, ")[:300]


def _unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
    # Not ninja's text with a traceback while DEBUG is on: Django logs it and answers.
    raise error
