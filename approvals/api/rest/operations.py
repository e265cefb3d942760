"""Shared code of all REST operations: the caller, body and query, and the form of refusals."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.params.models import Body, BodyModel
from ninja.security import HttpBearer

from approvals.access.callers import Caller, caller_of
from approvals.api.bodies import Document, json_with_files
from approvals.api.frame import ELSEWHERE, Framed, counted, refuse_tokens
from approvals.exceptions import Invalid, Refusal
from approvals.http import refusal_page
from approvals.json_types import JsonDict, JsonMapping

MAX_ERRORS = 50


class Bearer(HttpBearer):
    """Document the authentication done by `MachineMiddleware`, including browser sessions.

    An operation that creates requests refuses client tokens and is counted before its body is read: a refusal of the token alone
    costs its key nothing.
    """

    def __init__(self, *, counts: bool = False) -> None:
        super().__init__()
        self.counts = counts

    def __call__(self, request: HttpRequest) -> Caller:
        caller = caller_of(request)
        if not self.counts:
            return caller
        refuse_tokens(caller)
        return counted(caller)

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        return caller_of(request)


class Operation(Framed):
    """The function of an operation, `view(caller, ...)`: it needs one of the scopes; `query` lists all its query parameters."""

    def __init__(
        self,
        view: Callable[..., Any],
        *scopes: str,
        query: type[Document] | None = None,
    ) -> None:
        super().__init__(view, scopes, ELSEWHERE)
        self.known = set() if query is None else set(query.model_fields)
        # For ninja: the parameters that clients send, and the namespace of their types.
        signature = inspect.signature(view)
        parameters = dict(signature.parameters)
        del parameters["caller"]
        self.__signature__ = signature.replace(parameters=list(parameters.values()))
        self.__globals__ = view.__globals__
        self.takes_request = "request" in parameters

    def __call__(self, request: HttpRequest, **sent: Any) -> Any:
        caller = request.auth  # type: ignore[attr-defined]
        self.admit(caller)
        only_known(request, self.known)
        return (
            self.view(caller, request=request, **sent)
            if self.takes_request
            else self.view(caller, **sent)
        )


def operation(
    *scopes: str, query: type[Document] | None = None
) -> Callable[[Callable[..., Any]], Operation]:
    """Decorate a function as an `Operation`."""
    return lambda view: Operation(view, *scopes, query=query)


def problems(*statuses: int, ok: JsonMapping | None = None) -> JsonDict:
    """Return, for OpenAPI, the error statuses of an operation in addition to those that all operations have.

    `ok` is the content of its 200, by media type, if it returns no document.
    """
    shown = {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }
    contents: dict[int, JsonMapping] = dict.fromkeys(
        sorted({401, 403, 422, *statuses}), shown
    )
    if ok is not None:
        contents[HTTPStatus.OK] = ok
    # Numbers, as in ninja: the same status as text would be a second key in JSON.
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
    errors = {
        _path(problem): _words(problem)
        for problem in reversed(error.errors[:MAX_ERRORS])
    }
    return refusal_page(request, Invalid(_("The request is invalid."), errors))


def _words(problem: JsonMapping) -> str:
    # pydantic's own words name the class.
    if problem["type"] == "model_type":
        return "Input should be an object"
    return str(problem["msg"]).removeprefix("Value error, ")[:300]


def _path(problem: JsonMapping) -> str:
    source, *rest = problem["loc"]
    # The path of a body's field begins with the name of our parameter.
    names = rest[1:] if source == "body" else rest
    return ".".join(map(str, names))[:200]


def _unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
    # With DEBUG, ninja would answer with a traceback. Django logs the error and answers.
    raise error


class _JsonModel(BodyModel):
    """Read the body by our own rules, because ninja accepts any content type and any number."""

    @classmethod
    def get_request_data(
        cls, request: HttpRequest, api: Any, path_params: Any
    ) -> JsonDict:
        return {
            cls.__read_from_single_attr__: json_with_files(
                request, ["attachments"], ["answer"]
            )
        }


class JsonBody(Body):  # type: ignore[misc]  # ninja's own parameters inherit like this
    """Mark the parameter of an operation that holds the body."""

    _model = _JsonModel

    @classmethod
    def _param_source(cls) -> str:
        return "body"


def only_known(request: HttpRequest, known: set[str]) -> None:
    """Raise Invalid for an unknown or repeated query parameter."""
    errors: dict[str, str] = {}
    for name, values in request.GET.lists():
        if name not in known:
            errors[name[:100]] = _("is unknown")
        elif len(values) != 1:
            errors[name] = _("is given more than once")
        elif "\x00" in values[0] or len(values[0]) > 1000:
            errors[name] = _("contains a NUL or is too long")
    if errors:
        raise Invalid(_("The query parameters are invalid."), errors)
