"""The events of a turn, as frozen values. They are stored as JSON, and each protocol encodes them for its clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from approvals.json_types import JsonDict


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The model is asked; `index` counts from 0 over the whole turn."""

    index: int


@dataclass(frozen=True, slots=True)
class TextStarted:
    id: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextEnded:
    id: str


@dataclass(frozen=True, slots=True)
class ReasoningStarted:
    id: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnded:
    id: str


@dataclass(frozen=True, slots=True)
class ToolInputStarted:
    tool_call_id: str
    tool_name: str


@dataclass(frozen=True, slots=True)
class ToolInputDelta:
    """A fragment of the input's JSON text; meaningless until the input is ready."""

    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolInputReady:
    tool_call_id: str
    tool_name: str
    input: Any


@dataclass(frozen=True, slots=True)
class ToolInputInvalid:
    """The model called a tool that does not exist, or with an invalid input."""

    tool_call_id: str
    tool_name: str
    input: Any
    error_text: str


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """The model's whole answer: content blocks in Anthropic's shape, exactly as returned."""

    blocks: list[JsonDict]
    stop_reason: str
    model: str
    usage: dict[str, int] = field(default_factory=dict)
    #: The provider's reason for the end of the answer: `{}` if none, `{"reason": ...}` for the stop reason "unknown".
    stop_details: JsonDict = field(default_factory=dict)
    #: The provider's own data about this answer, needed when it is sent back. Stored with the step, and opaque to others.
    prefix: str = ""
    #: The origin of the answer, as reported: `model` (the requested one may be an alias), `message_id`, `request_id`,
    #: `service_tier`.
    answered_by: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerMetered:
    """The data about an answer to `model` so far, as in `ModelFinished`. It is kept for an answer that never finishes."""

    model: str
    usage: dict[str, int]
    answered_by: dict[str, str]


@dataclass(frozen=True, slots=True)
class ModelSilent:
    """No output of an answer for `seconds`, during try `attempt` of `attempts`. Sent only before any output."""

    attempt: int
    attempts: int
    seconds: int


@dataclass(frozen=True, slots=True)
class AnswerRemarked:
    """A remark on an answer besides its text: see `chats.queries.values`."""

    remark: JsonDict


@dataclass(frozen=True, slots=True)
class SourceFound:
    """An answer cites a source, or has the result of a tool that its provider ran: a part of `chats.queries.sources`."""

    part: JsonDict


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """`votes`: several people decide the request."""

    tool_call_id: str
    request_id: str
    votes: bool = False


@dataclass(frozen=True, slots=True)
class ToolSucceeded:
    tool_call_id: str
    output: Any


@dataclass(frozen=True, slots=True)
class ToolFailed:
    tool_call_id: str
    error_text: str


@dataclass(frozen=True, slots=True)
class ToolDenied:
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    index: int


@dataclass(frozen=True, slots=True)
class TurnPaused:
    """People were asked; the turn continues when they have answered."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    finish_reason: str
    stopped: bool = False
    #: The message's metadata for clients: `chats.queries.usage.message_metadata`.
    metadata: JsonDict = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnFailed:
    error_text: str
    metadata: JsonDict = field(default_factory=dict)


Event = (
    StepStarted
    | TextStarted
    | TextDelta
    | TextEnded
    | ReasoningStarted
    | ReasoningDelta
    | ReasoningEnded
    | ToolInputStarted
    | ToolInputDelta
    | ToolInputReady
    | ToolInputInvalid
    | ModelFinished
    | AnswerMetered
    | ModelSilent
    | AnswerRemarked
    | SourceFound
    | ApprovalRequested
    | ToolSucceeded
    | ToolFailed
    | ToolDenied
    | StepEnded
    | TurnPaused
    | TurnEnded
    | TurnFailed
)

_TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        StepStarted,
        TextStarted,
        TextDelta,
        TextEnded,
        ReasoningStarted,
        ReasoningDelta,
        ReasoningEnded,
        ToolInputStarted,
        ToolInputDelta,
        ToolInputReady,
        ToolInputInvalid,
        ModelSilent,
        AnswerRemarked,
        SourceFound,
        ApprovalRequested,
        ToolSucceeded,
        ToolFailed,
        ToolDenied,
        StepEnded,
        TurnPaused,
        TurnEnded,
        TurnFailed,
    )
}


#: Each of these means that an answer has begun.
FIRST_WORDS = (
    TextStarted,
    TextDelta,
    ReasoningStarted,
    ReasoningDelta,
    ToolInputStarted,
    TurnFailed,
)
#: In a row with several pieces of a text: the offsets at which they end.
ENDS = "ends"


def to_json(event: Event) -> JsonDict:
    """Return the event as stored in `TurnEvent.chunk`: its fields, and its class name under `event`."""
    return {
        "event": type(event).__name__,
        **{name: getattr(event, name) for name in event.__dataclass_fields__},
    }


def from_json(stored: JsonDict) -> Event:
    """Return the event stored by `to_json`."""
    fields = dict(stored)
    fields.pop(ENDS, None)
    event: Event = _TYPES[fields.pop("event")](**fields)
    return event


def is_piece_of(event: Event, other: Event) -> bool:
    """Return whether two events are pieces of the same text, so that one row can hold both."""
    match event, other:
        case (
            (TextDelta(text_id), TextDelta(other_id))
            | (ReasoningDelta(text_id), ReasoningDelta(other_id))
            | (ToolInputDelta(text_id), ToolInputDelta(other_id))
        ):
            return text_id == other_id
    return False


def pieces_to_json(pieces: Sequence[Event]) -> JsonDict:
    """Return the stored form of consecutive events: one event, or pieces of one text with their end offsets."""
    stored = to_json(pieces[0])
    if len(pieces) > 1:
        texts = [to_json(piece)["text"] for piece in pieces]
        stored |= {"text": "".join(texts), ENDS: list(accumulate(map(len, texts)))}
    return stored


def pieces_from_json(stored: JsonDict) -> list[JsonDict]:
    """Return each event stored by `pieces_to_json`, in the form of `to_json`."""
    if ENDS not in stored:
        return [stored]
    whole = {name: value for name, value in stored.items() if name != ENDS}
    return [
        whole | {"text": stored["text"][begin:end]}
        for begin, end in pairwise([0, *stored[ENDS]])
    ]
