"""Ask people from an agent: a client for Pausepoint, adapters for agent frameworks, and the command `pausepoint`."""

from pausepoint.desk import Asked, AsyncDesk, Desk, DeskError, Outcome, Refused, StillWaiting, Unreachable

__all__ = ["Asked", "AsyncDesk", "Desk", "DeskError", "Outcome", "Refused", "StillWaiting", "Unreachable"]
