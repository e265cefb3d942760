"""Why a call does not run, where an adapter raises it."""

from __future__ import annotations

from pausepoint import calls
from pausepoint.desk import DeskError, Outcome


class NotGated(DeskError):
    """People are to be asked about calls that would run unasked, such as those of a tool whose name is mistyped."""


class HasFailed(DeskError):
    """An approved call has run in an earlier run and failed, so it is not run again."""


class NotApproved(DeskError):
    """A call was not approved, so it was not run. `outcome` says why; the text is for a model."""

    def __init__(self, outcome: Outcome, text: str = "") -> None:
        self.outcome = outcome
        super().__init__(text or calls.refusal(outcome))


class Halted(NotApproved):
    """No one decided in time, and the policy stops the run then: do not go on with a no."""
