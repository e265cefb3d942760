"""The end of a turn: its row, message, checkpoint, events, and the end of its workflow."""

from __future__ import annotations

from django.utils import timezone

from approvals import actions as desk
from approvals.json_types import JsonDict
from approvals.models import Workflow
from approvals.record import audit
from approvals.states import WorkflowState
from chats.actions import rows
from chats.actions.locking import LockedTurn
from chats.actions.resuming import resume_parent
from chats.actions.writes import (
    RUNNER,
    audit_subject,
    enqueue_event,
    notify_after_commit,
    rest,
    store_message,
    write_checkpoint,
)
from chats.agent import events
from chats.queries import Progress, projection
from chats.queries.values import REFUSAL, remarks_in
from chats.states import CheckpointKind, FinishReason, TurnState


def closing_text(progress: Progress, step: int, text: str) -> list[events.Event]:
    """Return the events for the closing text of a message whose turn ended without a text of its own."""
    closing = projection.closing_parts(
        progress.steps, projection.message_parts(progress.steps), text
    )
    if not closing:
        return []
    written: list[events.Event] = [
        events.TextStarted("closing"),
        events.TextDelta("closing", closing[-1]["text"]),
        events.TextEnded("closing"),
    ]
    return (
        written
        if len(closing) == 1
        else [events.StepEnded(step), events.StepStarted(step + 1), *written]
    )


#: What the message of a turn says that ended without a text of its own.
_CLOSINGS: dict[str, str] = {
    TurnState.COMPLETED: projection.NO_TEXT,
    TurnState.STOPPED: projection.STOPPED,
}
#: How a workflow ends with its turn; otherwise as failed.
_ENDS_OF_WORKFLOWS = {
    TurnState.COMPLETED: WorkflowState.COMPLETED,
    TurnState.STOPPED: WorkflowState.CANCELLED,
}


def end_turn(
    locked: LockedTurn,
    state: TurnState,
    reason: FinishReason,
    workflow: Workflow | None,
    metadata: JsonDict,
    *,
    with_message: bool = True,
) -> None:
    """End a turn; without its message and checkpoint if they cannot be stored."""
    turn = locked.turn
    turn.state = state
    turn.finish_reason = reason
    turn.ended_at = timezone.now()
    turn.lease_until = None
    turn.usage = locked.progress.usage
    rest(turn)
    parts = _store_message(locked, reason, metadata) if with_message else []
    rows.TOUCH_CHAT.run(pk=turn.chat_id, updated_at=turn.ended_at)
    remarks = remarks_in(parts)
    for refused in (remark for remark in remarks if remark["code"] == REFUSAL):
        audit.record(
            "turn.refused", audit_subject(turn), data=refused, actor=None, via=RUNNER
        )
    ending = {
        "state": turn.state,
        "finish_reason": reason,
        "stopped": turn.stopped,
        "usage": turn.usage,
        "error": turn.error,
        "remarks": remarks,
    }
    enqueue_event("turn.completed", locked, ending)
    resume_parent(turn)
    # A sub-agent's turn has no workflow of its own.
    if workflow is not None and turn.root_id is None:
        ended_as = _ENDS_OF_WORKFLOWS.get(state, WorkflowState.FAILED)
        desk.end_workflow(workflow, state=ended_as)
    notify_after_commit(turn.chat_id)


def _store_message(
    locked: LockedTurn, reason: FinishReason, metadata: JsonDict
) -> list[JsonDict]:
    """Store the message of an ended turn with its checkpoint; return its parts."""
    steps = locked.progress.steps
    closing = _CLOSINGS.get(locked.turn.state, "")
    parts = projection.message_parts(steps, closing=closing)
    store_message(locked.turn, parts, metadata)
    write_checkpoint(
        locked.turn,
        parts,
        CheckpointKind.FINAL,
        reason,
        steps=steps,
        is_first=locked.never_paused,
        last=locked.progress.checkpoint,
    )
    return parts
