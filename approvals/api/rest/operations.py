"""What all operations of the REST API have in common: who calls, the body, the query, and how refusals are answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.params.models import Body, BodyModel
from ninja.security import HttpBearer

from approvals.access.callers import Caller, caller_of
from approvals.api.bodies import json_with_files
from approvals.api.fields import Document
from approvals.api.frame import ELSEWHERE, Framed, counted, refuse_tokens
from approvals.exceptions import Invalid, Refusal
from approvals.http import refusal_page

MAX_ERRORS = 50


class Bearer(HttpBearer):
    """Documents the authentication that `MachineMiddleware` has done, sessions of browsers included.

    An operation that asks `counts`, before its body is read, and takes no client token: what is refused for the token alone
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
    """The function of an operation, `view(caller, ...)`: it needs one of the scopes, and takes no parameters but `query`."""

    def __init__(self, view: Callable[..., Any], *scopes: str, query: type[Document] | None = None) -> None:
        super().__init__(view, scopes, ELSEWHERE)
        self.known = set() if query is None else set(query.model_fields)
        # What ninja reads: the parameters that clients send, and where the names of their types are known.
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
        return self.view(caller, request=request, **sent) if self.takes_request else self.view(caller, **sent)


def operation(*scopes: str, query: type[Document] | None = None) -> Callable[[Callable[..., Any]], Operation]:
    """Decorate a function as an `Operation`."""
    return lambda view: Operation(view, *scopes, query=query)


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
    errors = {
        _path(problem): str(problem["msg"]).removeprefix("Value error, ")[:300]
        for problem in reversed(error.errors[:MAX_ERRORS])
    }
    return refusal_page(request, Invalid(_("The request is invalid."), errors))


def _path(problem: Mapping[str, Any]) -> str:
    source, *rest = problem["loc"]
    # The path of a body's field begins with the name of our parameter.
    names = rest[1:] if source == "body" else rest
    return ".".join(map(str, names))[:200]


def _unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
    # With DEBUG, ninja would answer with a traceback. Django logs the error and answers.
    raise error


class _JsonModel(BodyModel):
    """Reads the body by our own rules, because ninja accepts any content type and any number."""

    @classmethod
    def get_request_data(cls, request: HttpRequest, api: Any, path_params: Any) -> dict[str, Any]:
        return {cls.__read_from_single_attr__: json_with_files(request, ["attachments"], ["answer"])}


class JsonBody(Body):  # type: ignore[misc]  # ninja's own parameters inherit like this
    """Marks the parameter of an operation that holds the body."""

    _model = _JsonModel

    @classmethod
    def _param_source(cls) -> str:
        return "body"


def only_known(request: HttpRequest, known: set[str]) -> None:
    """Raise Invalid for a query parameter that is unknown, or given twice."""
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
