"""The JSON Schemas of the contract between Pausepoint and a relay, published at one address."""

from __future__ import annotations

from typing import Any

from approvals.json_types import JsonDict

MAX_ACCOUNT = 200
MAX_MESSAGE = 5_000


def _object(required: str, **properties: Any) -> JsonDict:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_ACCOUNT = {"type": "string", "minLength": 1, "maxLength": MAX_ACCOUNT}
_VERDICT = {"enum": ["approve", "reject", "respond"]}
_OPTION = {"type": "integer", "minimum": 0, "maximum": 100}
_OFFERED = _object(
    "verdict label message",
    verdict=_VERDICT,
    option=_OPTION,
    label=_TEXT,
    message={"enum": ["none", "optional", "required"]},
)
_COMMON = {
    "message": {"type": "string", "format": "uuid"},
    "revision": {"type": "integer", "minimum": 1},
    "account": _ACCOUNT,
    "language": _TEXT,
    "title": _TEXT,
    "text": _TEXT,
    "open": {"type": "string", "format": "uri"},
}
_SHOW = _object(
    "message revision account language title text open answers token expires_at",
    **_COMMON,
    answers={"type": "array", "items": _OFFERED},
    token={"type": ["string", "null"]},
    expires_at={"type": ["string", "null"], "format": "date-time"},
)
_END = _object("message revision account language title text open", **_COMMON)
_NOTICE = _object(
    "account language text open",
    **{name: _COMMON[name] for name in ("account", "language", "text", "open")},
)


def _event(kind: str, data: JsonDict) -> JsonDict:
    stamp = {"type": "string", "format": "date-time"}
    return _object(
        "type timestamp data", type={"const": kind}, timestamp=stamp, data=data
    )


#: What Pausepoint posts to a relay.
EVENTS = {
    "request.show": _event("request.show", _SHOW),
    "request.end": _event("request.end", _END),
    "notice": _event("notice", _NOTICE),
}
#: The posts of a relay to Pausepoint.
ANSWER = _object(
    "token account verdict",
    token={"type": "string", "minLength": 1, "maxLength": 200},
    account=_ACCOUNT,
    verdict=_VERDICT,
    option=_OPTION,
    message={"type": "string", "maxLength": MAX_MESSAGE},
)
LINK = _object("account", account=_ACCOUNT, name={"type": "string", "maxLength": 200})
#: The answers to these.
ANSWERED = _object(
    "outcome detail",
    outcome={"enum": ["decided", "voted", "repeated"]},
    detail=_TEXT,
)
LINK_OFFERED = _object("url expires_at", url=_COMMON["open"], expires_at=_TEXT)
SCHEMA: JsonDict = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Relays of Pausepoint",
    "oneOf": [{"$ref": f"#/$defs/{name}"} for name in EVENTS],
    "$defs": EVENTS
    | {
        "answer": ANSWER,
        "answered": ANSWERED,
        "link": LINK,
        "link_offered": LINK_OFFERED,
    },
}
