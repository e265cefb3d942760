"""Ask people from an agent: a client for Pausepoint, adapters for agent frameworks, and the command `pausepoint`."""

from pausepoint.desk import (
    Asked,
    AsyncDesk,
    Desk,
    DeskError,
    LeaseLost,
    NotUnderstood,
    Outcome,
    Refused,
    Resume,
    StillWaiting,
    Unreachable,
    input_digest,
)

__all__ = [
    "Asked",
    "AsyncDesk",
    "Desk",
    "DeskError",
    "LeaseLost",
    "NotUnderstood",
    "Outcome",
    "Refused",
    "Resume",
    "StillWaiting",
    "Unreachable",
    "input_digest",
]
