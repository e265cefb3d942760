"""Errors raised by adapters for calls that do not run."""

from __future__ import annotations

from pausepoint import calls
from pausepoint.desk import DeskError, Outcome


class NotGated(DeskError):
    """Calls that need approval would run without asking, such as those of a tool with a mistyped name."""


class HasFailed(DeskError):
    """An approved call has run in an earlier run and failed, so it is not run again."""


class NotApproved(DeskError):
    """A call was not approved, so it was not run. `outcome` says why; the text is for a model."""

    def __init__(self, outcome: Outcome, text: str = "") -> None:
        self.outcome = outcome
        super().__init__(text or calls.refusal(outcome))


class Halted(NotApproved):
    """No one decided in time, and the policy stops the run: do not continue as after a rejection."""
