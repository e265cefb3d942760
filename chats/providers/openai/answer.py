"""What the answers of both APIs have in common. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from approvals.db.canonical_json import NotCanonical, join_halves, parse
from chats.agent.events import AnswerMetered, Event, ModelFinished

#: In place of the name of a refused argument: the thoughts of earlier answers.
THOUGHTS = "thoughts"
#: The `prefix` of an answer for which all thoughts before it were refused, so that they are not sent again.
THOUGHTS_REFUSED = "thoughts-refused"


#: Before the name of a vendor's own member of a message or call that a server does not take back.
MEMBER = "member:"


class Malformed(ValueError):
    """An event of the stream is not what the API promises."""


class Failed(Exception):
    """The server says inside the stream that the answer has failed."""

    def __init__(self, code: Any, message: Any) -> None:
        self.code, self.message = (word if isinstance(word, str) else "" for word in (code, message))
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Payload:
    """The body of a request.

    `thoughts` is the number of earlier answers whose thoughts are in it, or were until the server refused them. `members` are
    the names of what vendors added to earlier answers and get back.
    """

    arguments: dict[str, Any]
    thoughts: int = 0
    members: frozenset[str] = frozenset()


class Answer(Protocol):
    """One answer of `model` as it arrives.

    The server is `working` once it has said anything of the answer. An answer has `begun` with its first output for people,
    and is `complete` once the server has said why it ended. `thoughts_refused` says that the model was not shown its thoughts.
    """

    model: str
    thoughts_refused: bool
    #: Who answers, as the server says, not yet made safe: see `ModelFinished.answered_by`.
    identity: dict[str, Any]

    @property
    def working(self) -> bool: ...

    @property
    def begun(self) -> bool: ...

    @property
    def complete(self) -> bool: ...

    def take(self, raw: Any) -> Iterator[Event]:
        """Take one event of the stream; yield what it gives to show. Malformed, Failed."""
        ...

    def finished(self) -> ModelFinished:
        """Return the whole answer."""
        ...

    def metered(self) -> AnswerMetered:
        """Return what is known of the answer so far."""
        ...


def note(identity: dict[str, Any], raw: Mapping[str, Any]) -> bool:
    """Take who answers from what the server says of an answer; return whether that is new."""
    before = dict(identity)
    for name, key in (("model", "model"), ("message_id", "id"), ("service_tier", "service_tier")):
        if raw.get(key):
            identity[name] = raw[key]
    return identity != before


def counted(usage: Mapping[str, Any], inputs_name: str, outputs_name: str) -> dict[str, int]:
    """Return a usage in Anthropic's words; `inputs_name` and `outputs_name` are the names of its two amounts.

    `input_tokens` are those that were not read from the cache.
    """
    inputs, outputs = usage.get(f"{inputs_name}_details"), usage.get(f"{outputs_name}_details")
    cached, written = _number(inputs, "cached_tokens"), _number(inputs, "cache_write_tokens")
    amounts = {
        "input_tokens": max(_number(usage, inputs_name) - cached - written, 0),
        "output_tokens": _number(usage, outputs_name),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "thinking_tokens": _number(outputs, "reasoning_tokens"),
    }
    required = ("input_tokens", "output_tokens")
    return {name: amount for name, amount in amounts.items() if amount or name in required}


def _number(values: Any, name: str) -> int:
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def unused_id(call_id: str, used: set[str]) -> str:
    """Return the id of a call, or a new one if it is missing or was used before, and note it as used."""
    call_id = call_id if call_id and call_id not in used else f"call_{uuid4().hex[:24]}"
    used.add(call_id)
    return call_id


def input_of(text: str) -> dict[str, Any]:
    """Return a call's input from its JSON text; text that is no JSON object becomes an object that no tool accepts."""
    try:
        value = parse(join_halves(text)) if text.strip() else {}
    except NotCanonical as error:
        return {"unreadable": text[:1000], "why": str(error)}
    return value if isinstance(value, dict) else {"unreadable": text[:1000], "why": "not an object"}


def is_whole_input(text: str) -> bool:
    """Return whether a call's input has come to its end."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
