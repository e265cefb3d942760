"""The common parts of both APIs' answers. Pure."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

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


class ModelResponse(ABC):
    """One answer of `model` while it arrives.

    The server is `working` once it has sent anything about the answer. An answer has `begun` with its first output for people,
    and is `complete` after the server has given the stop reason. `thoughts_refused`: the model was not shown its thoughts.
    `names` are the tools by the sent names. A call whose id is in `used` gets a new one, because some servers restart their call
    numbers in each answer.
    """

    def __init__(
        self, model: str, names: Mapping[str, str], used: Collection[str] = ()
    ) -> None:
        self.model = model
        self.thoughts_refused = False
        self.begun = False
        #: Why the answer has ended, in the server's words.
        self.reason = ""
        #: The reported origin, not yet scrubbed: see `ModelFinished.answered_by`.
        self.identity: JsonDict = {}
        self._names = names
        self._used = set(used)
        self._usage: dict[str, int] = {}

    @property
    def working(self) -> bool:
        return self.begun

    @property
    def complete(self) -> bool:
        return bool(self.reason)

    @abstractmethod
    def take(self, raw: Any) -> Iterator[Event]:
        """Process one event of the stream; yield its events for display. Raise Malformed or Failed."""

    @abstractmethod
    def finished(self) -> ModelFinished:
        """Return the whole answer; for the stop reason "unknown" the details have the server's own."""

    def metered(self) -> AnswerMetered:
        """Return the data about the answer so far."""
        return AnswerMetered(self.model, dict(self._usage), dict(self.identity))


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


def is_whole_input(text: str) -> bool:
    """Return whether a call's input is complete."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
