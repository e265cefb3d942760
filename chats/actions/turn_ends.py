"""The end of a turn: its row, message, checkpoint, events, and the end of its workflow."""

from __future__ import annotations

from django.utils import timezone

from approvals import actions as desk
from approvals.db.prepared_writes import Write, write_together
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
    new_checkpoint,
    new_message,
    notify_after_commit,
    rest,
    store_message,
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
    parts = _message_parts(locked) if with_message else []
    writes = [rest(turn), rows.TOUCH_CHAT.of(pk=turn.chat_id, updated_at=turn.ended_at)]
    # A sub-agent's turn has no workflow of its own.
    if workflow is not None and turn.root_id is None:
        ended_as = _ENDS_OF_WORKFLOWS.get(state, WorkflowState.FAILED)
        writes.append(desk.end_of_workflow(workflow, state=ended_as))
    if with_message:
        writes.append(_checkpoint(locked, parts, reason))
    if parts:
        writes.append(store_message(turn, parts, metadata))
    stored = write_together(writes)
    if parts and stored[-1] is None:
        # None of its steps had anything to show.
        write_together([new_message(turn, parts=parts, metadata=metadata)])
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
    notify_after_commit(turn.chat_id)


def _message_parts(locked: LockedTurn) -> list[JsonDict]:
    closing = _CLOSINGS.get(locked.turn.state, "")
    return projection.message_parts(locked.progress.steps, closing=closing)


def _checkpoint(
    locked: LockedTurn, parts: list[JsonDict], reason: FinishReason
) -> Write:
    write, _last = new_checkpoint(
        locked.turn,
        parts,
        CheckpointKind.FINAL,
        reason,
        steps=locked.progress.steps,
        is_first=locked.never_paused,
        last=locked.progress.checkpoint,
    )
    return write
