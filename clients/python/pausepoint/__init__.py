"""Ask people from an agent: a client for Pausepoint, adapters for agent frameworks, and the command `pausepoint`."""

from pausepoint.desk import (
    Asked,
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
from pausepoint.desks import AsyncDesk, Desk

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
