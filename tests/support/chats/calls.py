"""The progress of turns as values, without a database."""

from __future__ import annotations

from typing import Any

from chats.actions.transitions import Transition
from chats.queries.progress import Progress
from chats.queries.values import CallView, StepView
from chats.states import CallState


def call(state: CallState = CallState.READY, tool_call_id: str = "a", **given: Any) -> CallView:
    """Return a call of `pay`, or of another tool, that was started once if it can have been."""
    given = {
        "name": "pay",
        "input": {"amount": 5},
        "attempt": int(state not in {CallState.WAITING, CallState.READY}),
    } | given
    return CallView(tool_call_id=tool_call_id, state=state, **given)


def progress(*calls: CallView) -> Progress:
    """Return the progress of a turn whose second step has these calls. Those of the first step are closed."""
    first = StepView([], (call(CallState.SUCCEEDED, "earlier"),))
    return Progress((first, StepView([], calls)))


def made_of(before: Progress, transition: Transition) -> Progress | None:
    """Return the result of a transition, or None if it refuses."""
    try:
        return transition(before)
    except AssertionError:
        return None
