"""The results of tool calls as a turn's stream tells them: those of calls that were run, or were to be run.

What people answer, reject or cancel is not told here: their clients are told by what they sent (`actions.take_answers`).
"""

from __future__ import annotations

from approvals.states import Status
from chats.agent import events
from chats.models import ToolCall, TurnEvent
from chats.states import CLOSED, CallState

RESULTS = frozenset({events.ToolSucceeded.__name__, events.ToolFailed.__name__})


def result_of(call: ToolCall) -> events.ToolSucceeded | events.ToolFailed | None:
    """What followers are told of a call; None while it is open, and for one that the stream does not tell of."""
    was_to_run = call.attempt > 0 or (call.approval is not None and call.approval.status == Status.APPROVED)
    if call.state not in CLOSED or not was_to_run:
        return None
    if call.state == CallState.SUCCEEDED:
        return events.ToolSucceeded(call.tool_call_id, call.output)
    return events.ToolFailed(call.tool_call_id, call.error_text)


def told_results(turn_id: int, step: int) -> set[str]:
    """The toolCallIds of the results of a step that the stored stream tells."""
    chunks = TurnEvent.objects.filter(turn=turn_id, step=step).values_list("chunk", flat=True)
    return {chunk["tool_call_id"] for chunk in chunks if chunk["event"] in RESULTS}
