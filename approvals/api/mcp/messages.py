"""JSON-RPC messages of MCP, in both eras: those that begin with `initialize`, and 2026-07-28, which needs no handshake."""

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

#: The version without a handshake, and those that begin with `initialize`, the newest first.
MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
#: The HTTP status of an error in 2026-07-28; other codes have 200.
_STATUSES = {
    **dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH, UNSUPPORTED_VERSION), 400),
    METHOD_NOT_FOUND: 404,
}
#: Characters of the ids that a client chooses, which every event of a stream repeats.
MAX_ID = 200
_PREFIX = "io.modelcontextprotocol/"
_VERSION, _CLIENT, _CAPABILITIES = (
    f"{_PREFIX}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")
)
SERVER_INFO = f"{_PREFIX}serverInfo"
_ENCODED = re.compile(r"=\?base64\?(?P<text>.*)\?=")

Headers = Mapping[str, str]
Id = str | int | None


class RpcError(Exception):
    """An error in the form of the protocol. Without `http_status`, it has the one that 2026-07-28 has for the code."""

    def __init__(self, code: int, message: str, *, data: Any = None, http_status: int | None = None) -> None:
        self.code, self.data = code, data
        self.http_status = _STATUSES.get(code, 200) if http_status is None else http_status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a client: a method with parameters, which gets one response."""

    id: Id
    method: str
    params: Mapping[str, Any]
    modern: bool
    #: Whether the client takes an event without data, as clients do since 2025-11-25.
    takes_empty_events: bool = False
    #: What it takes a decision as, in whichever message and process it goes on.
    taker: str = field(default_factory=lambda: uuid4().hex)

    @property
    def meta(self) -> Mapping[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def progress_token(self) -> str | int | None:
        token = self.meta.get("progressToken")
        return token if _is_id(token) else None

    @property
    def client(self) -> str:
        """The name of the client; in the older era only `initialize` says it."""
        name = _member(self.meta.get(_CLIENT), "name")
        return name if isinstance(name, str) else ""

    @property
    def opens_links(self) -> bool:
        """Whether the result may be "input required" with a link for the person at the client."""
        return self.modern and _member(self.meta.get(_CAPABILITIES), "elicitation", "url") is not None


def _member(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def read(message: Any, headers: Headers) -> Call | None:
    """Return the call in a message; None for a notification, or for a response, which nothing here waits for. RpcError."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, _("Send one JSON-RPC 2.0 message as a JSON object; batches are not supported."))
    call_id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    version = headers.get("MCP-Protocol-Version")
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str) or not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, _("`method` must be text, and `params` a JSON object."))
    if "id" not in message:
        if version not in {None, MODERN, *HANDSHAKE}:
            raise _unsupported(version)
        return None
    if not _is_id(call_id):
        error = _("`id` must be an integer, or text of at most %(limit)s characters.")
        raise RpcError(INVALID_REQUEST, error % {"limit": MAX_ID})
    modern = version not in {None, *HANDSHAKE} or _member(params, "_meta", _VERSION) is not None
    call = Call(call_id, method, params, modern, takes_empty_events=modern or version == HANDSHAKE[0])
    if modern:
        _check_envelope(call, headers)
    return call


def _check_envelope(call: Call, headers: Headers) -> None:
    """Raise RpcError unless the call says which version it speaks, and its headers say the same as its body."""
    missing = [name for name in (_VERSION, _CAPABILITIES) if name not in call.meta]
    if missing:
        raise RpcError(INVALID_PARAMS, _("`params._meta` lacks %(names)s.") % {"names": ", ".join(missing)})
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
    return RpcError(UNSUPPORTED_VERSION, _("This protocol version is not supported."), data=data)


def _decoded(value: str | None) -> str | None:
    """Return the text of a header, which is in base64 where it does not fit into one; None if that is malformed."""
    match = _ENCODED.fullmatch(value) if value is not None else None
    if match is None:
        return value
    try:
        return base64.b64decode(match["text"], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def success(call: Call, result: Mapping[str, Any], server: Mapping[str, str]) -> dict[str, Any]:
    """Return the response with a result."""
    if call.modern:
        result = {"resultType": "complete", **result, "_meta": {SERVER_INFO: server}}
    return {"jsonrpc": "2.0", "id": call.id, "result": result}


def failure(call_id: Id, error: RpcError) -> dict[str, Any]:
    """Return the response with an error."""
    data = {} if error.data is None else {"data": error.data}
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": error.code, "message": str(error), **data}}


def refused(error: RpcError, *, call_id: Id = None, modern: bool = True) -> HttpResponse:
    """Return the HTTP response with an error. The older era has HTTP errors only for what is no call."""
    return JsonResponse(failure(call_id, error), status=error.http_status if modern else 200)


def id_of(message: Any) -> Id:
    """Return the id in a message that may be no call at all; None without a valid one."""
    call_id = message.get("id") if isinstance(message, dict) else None
    return call_id if _is_id(call_id) else None


def _is_id(value: Any) -> TypeGuard[str | int]:
    if isinstance(value, str):
        return len(value) <= MAX_ID
    return isinstance(value, int) and not isinstance(value, bool)
