"""The common parts of both APIs' answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from approvals.db.canonical_json import NotCanonical, join_halves, parse
from approvals.json_types import JsonDict, JsonMapping
from chats.agent.events import AnswerMetered, Event, ModelFinished

#: Stands for the thoughts of earlier answers among the names of refused arguments.
THOUGHTS = "thoughts"
#: The `prefix` of an answer for which all thoughts before it were refused, so that they are not sent again.
THOUGHTS_REFUSED = "thoughts-refused"


#: Prefix of the name of a vendor's own member of a message or call that a server does not accept back.
MEMBER = "member:"


class Malformed(ValueError):
    """An event of the stream violates the API."""


class Failed(Exception):
    """The server reports inside the stream that the answer has failed."""

    def __init__(self, code: Any, message: Any) -> None:
        self.code, self.message = (
            word if isinstance(word, str) else "" for word in (code, message)
        )
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Payload:
    """The body of a request.

    `thoughts` is the number of earlier answers whose thoughts are in it, or were until the server refused them. `members` are
    the names of vendors' additions to earlier answers, which are sent back.
    """

    arguments: JsonDict
    thoughts: int = 0
    members: frozenset[str] = frozenset()


class ModelResponse(Protocol):
    """One answer of `model` while it arrives.

    The server is `working` once it has sent anything about the answer. An answer has `begun` with its first output for people,
    and is `complete` after the server has given the stop reason. `thoughts_refused`: the model was not shown its thoughts.
    """

    model: str
    thoughts_refused: bool
    #: The reported origin, not yet scrubbed: see `ModelFinished.answered_by`.
    identity: JsonDict

    @property
    def working(self) -> bool: ...

    @property
    def begun(self) -> bool: ...

    @property
    def complete(self) -> bool: ...

    def take(self, raw: Any) -> Iterator[Event]:
        """Process one event of the stream; yield its events for display. Raise Malformed or Failed."""
        ...

    def finished(self) -> ModelFinished:
        """Return the whole answer."""
        ...

    def metered(self) -> AnswerMetered:
        """Return the data about the answer so far."""
        ...


def note(identity: JsonDict, raw: JsonMapping) -> bool:
    """Store the origin of an answer from the server's data; return whether it is new."""
    before = dict(identity)
    for name, key in (
        ("model", "model"),
        ("message_id", "id"),
        ("service_tier", "service_tier"),
    ):
        if raw.get(key):
            identity[name] = raw[key]
    return identity != before


def counted(usage: JsonMapping, inputs_name: str, outputs_name: str) -> dict[str, int]:
    """Return a usage under Anthropic's names; `inputs_name` and `outputs_name` are the names of its two amounts.

    `input_tokens` are those not read from the cache.
    """
    inputs = usage.get(f"{inputs_name}_details")
    outputs = usage.get(f"{outputs_name}_details")
    cached = _number(inputs, "cached_tokens")
    written = _number(inputs, "cache_write_tokens")
    amounts = {
        "input_tokens": max(_number(usage, inputs_name) - cached - written, 0),
        "output_tokens": _number(usage, outputs_name),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "thinking_tokens": _number(outputs, "reasoning_tokens"),
    }
    required = ("input_tokens", "output_tokens")
    return {
        name: amount for name, amount in amounts.items() if amount or name in required
    }


def _number(values: Any, name: str) -> int:
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def unused_id(call_id: str, used: set[str]) -> str:
    """Return the id of a call, or a new one if it is missing or was used before, and mark it as used."""
    call_id = call_id if call_id and call_id not in used else f"call_{uuid4().hex[:24]}"
    used.add(call_id)
    return call_id


def input_of(text: str) -> JsonDict:
    """Return a call's input from its JSON text; text that is no JSON object becomes an object that no tool accepts."""
    try:
        value = parse(join_halves(text)) if text.strip() else {}
    except NotCanonical as error:
        return {"unreadable": text[:1000], "why": str(error)}
    return (
        value
        if isinstance(value, dict)
        else {"unreadable": text[:1000], "why": "not an object"}
    )


def is_whole_input(text: str) -> bool:
    """Return whether a call's input is complete."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
