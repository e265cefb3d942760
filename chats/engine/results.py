"""Which results of tool calls a turn's stream reports: those of calls that ran, or were approved to run.

Answers, rejections and cancellations are not reported: the response to the answering client says them
(`actions.take_answers`).
"""

from __future__ import annotations

from chats.agent import events
from chats.models import TurnEvent
from chats.queries.values import CallView
from chats.states import CLOSED, CallState

RESULTS = frozenset({events.ToolSucceeded.__name__, events.ToolFailed.__name__})


def result_of(call: CallView) -> events.ToolSucceeded | events.ToolFailed | None:
    """Return the event that reports a call's result; None for an open call, and for one that the stream does not report."""
    if call.state not in CLOSED or not (call.attempt or call.approved):
        return None
    if call.state == CallState.SUCCEEDED:
        return events.ToolSucceeded(call.tool_call_id, call.output)
    return events.ToolFailed(call.tool_call_id, call.error_text)


def reported_results(turn_id: int, step: int) -> set[str]:
    """Return the toolCallIds whose results the stored stream reports in a step."""
    chunks = TurnEvent.objects.filter(turn=turn_id, step=step).values_list("chunk", flat=True)
    return {chunk["tool_call_id"] for chunk in chunks if chunk["event"] in RESULTS}
