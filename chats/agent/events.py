"""The events of a turn, as frozen values. They are stored as JSON, and each protocol encodes them for its clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any


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

    blocks: list[dict[str, Any]]
    stop_reason: str
    model: str
    usage: dict[str, int] = field(default_factory=dict)
    #: What the provider says of why the answer ended: `{}` if nothing, `{"reason": ...}` for the stop reason "unknown".
    stop_details: dict[str, Any] = field(default_factory=dict)
    #: What the provider has to know of this answer when it sends it back. Stored with the step, and opaque to others.
    prefix: str = ""
    #: Who answered, as the provider says: `model` (that asked for may be an alias), `message_id`, `request_id`, `service_tier`.
    answered_by: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerMetered:
    """What is known of an answer to `model` so far, as in `ModelFinished`. It is what is kept of one that is never finished."""

    model: str
    usage: dict[str, int]
    answered_by: dict[str, str]


@dataclass(frozen=True, slots=True)
class ModelSilent:
    """Nothing of an answer has come for `seconds`, and try `attempt` of `attempts` is under way. Before any output."""

    attempt: int
    attempts: int
    seconds: int


@dataclass(frozen=True, slots=True)
class AnswerRemarked:
    """Something is said of an answer beside its words: see `chats.queries.remarks`."""

    remark: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SourceFound:
    """An answer cites a source, or has the result of a tool that its provider ran: a part of `chats.queries.sources`."""

    part: dict[str, Any]


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
    """People were asked; the turn goes on when they have answered."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    finish_reason: str
    stopped: bool = False
    #: What clients are told about the message: `chats.queries.usage.message_metadata`.
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnFailed:
    error_text: str
    metadata: dict[str, Any] = field(default_factory=dict)


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


#: An answer has begun with any of these.
FIRST_WORDS = (TextStarted, TextDelta, ReasoningStarted, ReasoningDelta, ToolInputStarted, TurnFailed)
PIECES = (TextDelta, ReasoningDelta, ToolInputDelta)
#: In a row that holds several pieces of a text: the places in it at which they end.
ENDS = "ends"


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as stored in `TurnEvent.chunk`: its fields, and its class name under `event`."""
    stored = {"event": type(event).__name__, **{name: getattr(event, name) for name in event.__dataclass_fields__}}
    if stored.get("votes") is False:
        # Processes of an earlier version do not know this field: as long as no one votes, they can read the event.
        del stored["votes"]
    return stored


def from_json(stored: dict[str, Any]) -> Event:
    """Return the event that `to_json` stored."""
    fields = dict(stored)
    fields.pop(ENDS, None)
    event: Event = _TYPES[fields.pop("event")](**fields)
    return event


def is_piece_of(event: Event, other: Event) -> bool:
    """Return whether two events are pieces of the same text, so that one row can hold both."""
    if not isinstance(event, PIECES) or not isinstance(other, PIECES):
        return False
    return replace(event, text="") == replace(other, text="")


def pieces_to_json(pieces: Sequence[Event]) -> dict[str, Any]:
    """Return what is stored of events that follow each other: one event, or pieces of one text with where each ends."""
    stored = to_json(pieces[0])
    if len(pieces) > 1:
        texts = [to_json(piece)["text"] for piece in pieces]
        stored |= {"text": "".join(texts), ENDS: list(accumulate(map(len, texts)))}
    return stored


def pieces_from_json(stored: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each event that `pieces_to_json` stored, as `to_json` would store it."""
    if ENDS not in stored:
        return [stored]
    whole = {name: value for name, value in stored.items() if name != ENDS}
    return [whole | {"text": stored["text"][begin:end]} for begin, end in pairwise([0, *stored[ENDS]])]
