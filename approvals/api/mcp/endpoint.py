"""The MCP endpoint: one POST, one JSON-RPC message; a call that waits for a person is answered by a stream.

A GET continues a broken stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPMethod
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access.callers import Caller
from approvals.api.bodies import readable_json_with_files
from approvals.api.frame import Endpoint
from approvals.api.mcp import messages
from approvals.api.mcp.calls import call_tool, continue_stream
from approvals.api.mcp.messages import HANDSHAKE, MODERN, MethodCall, RpcError
from approvals.api.mcp.tools import TOOLS
from approvals.exceptions import NotAllowed, Refusal
from approvals.json_types import JsonMapping

SERVER = {"name": "pausepoint", "title": "Pausepoint", "version": "1"}
INSTRUCTIONS = (
    "People answer questions and approve actions here. Call ask_human for a question, and request_approval before an "
    "action that needs a person's consent. While the status is pending, call check_request. A request that is not approved "
    "must not be run."
)
KEYS_ONLY = gettext_lazy(
    "MCP clients need an API key. Send it as `Authorization: Bearer …`."
)
#: How long a client may cache the list of tools, which only changes with a new version.
_CACHED = {"ttlMs": 3_600_000, "cacheScope": "public"}


class McpEndpoint(Endpoint):
    """A POST, or a GET that continues a stream, except from another site's page."""

    def check(self, request: HttpRequest) -> None:
        if request.method != HTTPMethod.GET or "Last-Event-ID" not in request.headers:
            super().check(request)
        _check_origin(request)


def _serve(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Respond to one message of an MCP client, or continue a stream."""
    if caller.key is None:
        raise NotAllowed(str(KEYS_ONLY))
    try:
        if request.method == HTTPMethod.GET:
            return continue_stream(
                request, caller, request.headers["Last-Event-ID"], SERVER
            )
        return _answer(request, caller)
    except RpcError as error:
        return messages.refused(error)


#: Each tool checks a scope of its own.
endpoint = McpEndpoint(_serve, "POST", tokens=KEYS_ONLY)


def _answer(request: HttpRequest, caller: Caller) -> HttpResponse:
    message = None
    try:
        message, problem = _body(request)
        call = messages.read(message, request.headers)
    except RpcError as error:
        return messages.refused(error, call_id=messages.id_of(message))
    return (
        HttpResponse(status=202)
        if call is None
        else _respond(request, caller, call, problem)
    )


def _check_origin(request: HttpRequest) -> None:
    """Raise NotAllowed for a page of another site (DNS rebinding). Other clients send no `Origin`."""
    origin = request.headers.get("Origin")
    own = (
        settings.PUBLIC_URL,
        f"{request.scheme}://{request.get_host()}",
        *settings.CORS_ALLOWED_ORIGINS,
    )
    if origin is not None and origin not in {
        "{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in own
    }:
        raise NotAllowed(
            _(
                "Pages of other sites may not call this endpoint. To allow one, add its origin to "
                "CORS_ALLOWED_ORIGINS."
            )
        )


def _body(request: HttpRequest) -> tuple[Any, Refusal | None]:
    """Return the message in the body, and why it cannot be stored (None if it can). Raise RpcError."""
    try:
        return readable_json_with_files(request, ["params", "arguments", "attachments"])
    except Refusal as refusal:
        raise RpcError(
            messages.PARSE_ERROR, str(refusal), http_status=refusal.status
        ) from refusal


def _respond(
    request: HttpRequest, caller: Caller, call: MethodCall, problem: Refusal | None
) -> HttpResponse:
    try:
        if not (
            request.accepts("application/json") and request.accepts("text/event-stream")
        ):
            message = _("Accept both application/json and text/event-stream.")
            raise RpcError(messages.INVALID_REQUEST, message, http_status=406)
        if call.method == "tools/call":
            return call_tool(request, caller, call, SERVER, problem)
        if problem is not None:
            raise RpcError(messages.INVALID_PARAMS, str(problem))
        method = (_MODERN if call.modern else _HANDSHAKE).get(call.method)
        if method is None:
            raise RpcError(
                messages.METHOD_NOT_FOUND,
                _("This method is not supported: %(name)s")
                % {"name": call.method[:100]},
            )
        return JsonResponse(messages.success(call, method(call), SERVER))
    except RpcError as error:
        return messages.refused(
            error, call_id=call.id, modern=call.modern or error.http_status == 406
        )


def _initialize(call: MethodCall) -> JsonMapping:
    wanted = call.params.get("protocolVersion")
    about = {
        "capabilities": {"tools": {}},
        "serverInfo": SERVER,
        "instructions": INSTRUCTIONS,
    }
    return {"protocolVersion": wanted if wanted in HANDSHAKE else HANDSHAKE[0], **about}


def _discover(call: MethodCall) -> JsonMapping:
    about = {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}
    return {"supportedVersions": [MODERN, *HANDSHAKE], **about, **_CACHED}


def _tools(call: MethodCall) -> JsonMapping:
    tools = [tool.described() for tool in TOOLS.values()]
    return {"tools": tools, **(_CACHED if call.modern else {})}


Method = Callable[[MethodCall], JsonMapping]
_HANDSHAKE: Mapping[str, Method] = {
    "initialize": _initialize,
    "ping": lambda call: {},
    "tools/list": _tools,
}
_MODERN: Mapping[str, Method] = {"server/discover": _discover, "tools/list": _tools}
