"""JSON-RPC messages of MCP, in both eras: those that start with `initialize`, and 2026-07-28 without a handshake."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from uuid import uuid4

from django.http import HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from approvals.json_types import JsonDict, JsonMapping

#: The version without a handshake, and those that start with `initialize`, newest first.
MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
#: HTTP statuses of errors in 2026-07-28; other codes have 200.
_STATUSES = {
    **dict.fromkeys(
        (
            PARSE_ERROR,
            INVALID_REQUEST,
            INVALID_PARAMS,
            HEADER_MISMATCH,
            UNSUPPORTED_VERSION,
        ),
        400,
    ),
    METHOD_NOT_FOUND: 404,
}
#: Maximum length of client-chosen ids, which are repeated in every event of a stream.
MAX_ID = 200
_PREFIX = "io.modelcontextprotocol/"
_VERSION, _CLIENT, _CAPABILITIES = (
    f"{_PREFIX}{name}"
    for name in ("protocolVersion", "clientInfo", "clientCapabilities")
)
SERVER_INFO = f"{_PREFIX}serverInfo"
_ENCODED = re.compile(r"=\?base64\?(?P<text>.*)\?=")

Headers = Mapping[str, str]
Id = str | int | None


class RpcError(Exception):
    """A protocol error. `http_status` defaults to the status of its code in 2026-07-28."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: Any = None,
        http_status: int | None = None,
    ) -> None:
        self.code = code
        self.data = data
        self.http_status = (
            _STATUSES.get(code, 200) if http_status is None else http_status
        )
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class MethodCall:
    """A client's request: a method with parameters, which gets one response."""

    id: Id
    method: str
    params: JsonMapping
    modern: bool
    #: Whether the client accepts an event without data, as clients do since 2025-11-25.
    takes_empty_events: bool = False
    #: The identity under which the call consumes a decision, across messages and processes.
    taker: str = field(default_factory=lambda: uuid4().hex)

    @property
    def meta(self) -> JsonMapping:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def progress_token(self) -> str | int | None:
        token = self.meta.get("progressToken")
        return token if _is_id(token) else None

    @property
    def client(self) -> str:
        """The name of the client; in the older era only `initialize` has it."""
        name = _member(self.meta.get(_CLIENT), "name")
        return name if isinstance(name, str) else ""

    @property
    def opens_links(self) -> bool:
        """Whether the result may be "input required" with a link for the person at the client."""
        return (
            self.modern
            and _member(self.meta.get(_CAPABILITIES), "elicitation", "url") is not None
        )


def _member(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def read(message: Any, headers: Headers) -> MethodCall | None:
    """Return the call in a message; None for a notification or a response, since no responses are expected. Raise RpcError."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(
            INVALID_REQUEST,
            _(
                "Send one JSON-RPC 2.0 message as a JSON object; batches are not supported."
            ),
        )
    call_id = message.get("id")
    method = message.get("method")
    params = message.get("params", {})
    version = headers.get("MCP-Protocol-Version")
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str) or not isinstance(params, dict):
        raise RpcError(
            INVALID_REQUEST, _("`method` must be text, and `params` a JSON object.")
        )
    if "id" not in message:
        if version not in {None, MODERN, *HANDSHAKE}:
            raise _unsupported(version)
        return None
    if not _is_id(call_id):
        error = _("`id` must be an integer, or text of at most %(limit)s characters.")
        raise RpcError(INVALID_REQUEST, error % {"limit": MAX_ID})
    modern = (
        version not in {None, *HANDSHAKE}
        or _member(params, "_meta", _VERSION) is not None
    )
    call = MethodCall(
        call_id,
        method,
        params,
        modern,
        takes_empty_events=modern or version == HANDSHAKE[0],
    )
    if modern:
        _check_envelope(call, headers)
    return call


def _check_envelope(call: MethodCall, headers: Headers) -> None:
    """Raise RpcError unless the call declares its version, and its headers match its body."""
    missing = [name for name in (_VERSION, _CAPABILITIES) if name not in call.meta]
    if missing:
        raise RpcError(
            INVALID_PARAMS,
            _("`params._meta` lacks %(names)s.") % {"names": ", ".join(missing)},
        )
    pairs = {"MCP-Protocol-Version": call.meta[_VERSION], "Mcp-Method": call.method}
    if call.method == "tools/call" and "name" in call.params:
        pairs["Mcp-Name"] = call.params["name"]
    for name, value in pairs.items():
        if _decoded(headers.get(name)) != value:
            message = _("The header %(name)s is missing or does not match the body.")
            raise RpcError(HEADER_MISMATCH, message % {"name": name})
    if call.meta[_VERSION] != MODERN:
        raise _unsupported(call.meta[_VERSION])


def _unsupported(requested: Any) -> RpcError:
    data = {"supported": [MODERN], "requested": requested}
    return RpcError(
        UNSUPPORTED_VERSION, _("This protocol version is not supported."), data=data
    )


def _decoded(value: str | None) -> str | None:
    """Return the text of a header, decoded from base64 if necessary; None if that is malformed."""
    match = _ENCODED.fullmatch(value) if value is not None else None
    if match is None:
        return value
    try:
        return base64.b64decode(match["text"], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def success(
    call: MethodCall, result: JsonMapping, server: Mapping[str, str]
) -> JsonDict:
    """Return the response with a result."""
    if call.modern:
        result = {"resultType": "complete", **result, "_meta": {SERVER_INFO: server}}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def failure(call_id: Id, error: RpcError) -> JsonDict:
    """Return the response with an error."""
    data = {} if error.data is None else {"data": error.data}
    return {
        "jsonrpc": "2.0",
        "id": call_id,
        "error": {"code": error.code, "message": str(error), **data},
    }


def refused(
    error: RpcError, *, call_id: Id = None, modern: bool = True
) -> HttpResponse:
    """Return the HTTP response with an error. The older era uses HTTP errors only for messages that are no calls."""
    return JsonResponse(
        failure(call_id, error), status=error.http_status if modern else 200
    )


def id_of(message: Any) -> Id:
    """Return the id in a message that may not be a call; None without a valid one."""
    call_id = message.get("id") if isinstance(message, dict) else None
    return call_id if _is_id(call_id) else None


def _is_id(value: Any) -> TypeGuard[str | int]:
    if isinstance(value, str):
        return len(value) <= MAX_ID
    return isinstance(value, int) and not isinstance(value, bool)
