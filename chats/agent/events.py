"""The events of a turn, as frozen values. They are stored as JSON, and each protocol encodes them for its clients."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
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


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    tool_call_id: str
    request_id: str


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


@dataclass(frozen=True, slots=True)
class TurnFailed:
    error_text: str


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


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as stored in `TurnEvent.chunk`: its fields, and its class name under `event`."""
    return {"event": type(event).__name__, **asdict(event)}


def from_json(stored: dict[str, Any]) -> Event:
    """Return the event that `to_json` stored."""
    fields = dict(stored)
    event: Event = _TYPES[fields.pop("event")](**fields)
    return event
