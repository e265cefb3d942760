"""Who calls the API, with which scopes, and how refusals are answered."""

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
    """Documents the authentication that `MachineMiddleware` has done, sessions of browsers included.

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
    """Return the caller. Raises NotAuthenticated, ScopeMissing, and NotAllowed for a token of a single chat."""
    caller = caller_of(request)
    if caller.thread is not None:
        raise NotAllowed(_("A client token only works for its own chat. Use an API key."))
    caller.require(scope)
    return caller


def problems(*statuses: int, ok: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return, for OpenAPI, the statuses that an operation refuses with, in addition to those that all operations have.

    `ok` is the content of its 200, by media type, if it returns no document.
    """
    shown = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    contents: dict[int, Mapping[str, Any]] = dict.fromkeys(sorted({401, 403, 422, *statuses}), shown)
    if ok is not None:
        contents[HTTPStatus.OK] = ok
    # Numbers, as ninja has them: the same status as a text would be a second one in JSON.
    return {
        "responses": {
            int(status): {"description": HTTPStatus(status).phrase, "content": content}
            for status, content in contents.items()
        }
    }


def refuse_in_our_words(api: NinjaAPI) -> None:
    """Turn every error of ninja's into a problem document."""
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
    # The path of a body's field begins with the name of our parameter.
    names = rest[1:] if source == "body" else rest
    return ".".join(map(str, names))[:200]


def _words(problem: Mapping[str, Any]) -> str:
    return str(problem["msg"]).removeprefix("Value error, ")[:300]


def _unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
    # With DEBUG, ninja would answer with a traceback. Django logs the error and answers.
    raise error
