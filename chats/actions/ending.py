"""End a turn: finished, failed, or stopped by a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.access import permissions
from approvals.exceptions import NotAllowed
from approvals.models import Workflow
from approvals.models.actors import Actor
from approvals.record import audit
from approvals.runtime.canonical import clean_text
from approvals.runtime.transactions import after_commit, in_line
from approvals.states import Door, WorkflowState
from chats import doorbell, queries
from chats.actions.calling import give_back_calls
from chats.actions.resuming import resume_parent
from chats.actions.stepping import NOTHING_LEFT, NewStep, UnfinishedAnswer, keep_answer, store_step
from chats.actions.writes import (
    RUNNER,
    Claim,
    Recorded,
    audit_subject,
    claimed_turn,
    close_call,
    enqueue_event,
    lock_workflow,
    notify_after_commit,
    parts_of,
    store_message,
    write_checkpoint,
    write_events,
)
from chats.agent import events
from chats.exceptions import StopRequested
from chats.models import Chat, Turn
from chats.queries import Progress, projection, subagents
from chats.queries.remarks import BROKEN_OFF, REFUSAL, STOPPED_ANSWER, remarks_in, remarks_on
from chats.queries.usage import message_metadata
from chats.states import CLOSED, UNFINISHED, CallState, CheckpointKind, FinishReason, TurnState

STOPPED = "The turn was stopped before this was done."
NOT_RUN = "The answer was broken off before this call was run."
OUTCOME_UNKNOWN = "The turn ended while this ran; whether it was done is not known."


def finish_turn(
    claim: Claim,
    reason: FinishReason,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    new: NewStep | None = None,
) -> list[Recorded]:
    """End a turn as completed; return the closing stream events, which are stored too. LeaseLost, StopRequested.

    `new` is a last step to store in the same commit, as for `pause_turn`.
    """
    with claimed_turn(claim) as (turn, last_seq):
        if turn.stopped:
            raise StopRequested
        if new is not None:
            store_step(claim, turn, new)
        progress = claim.progress() or queries.steps_of(turn)
        workflow = lock_workflow(turn)
        text = _closing_text(progress, step, projection.NO_TEXT)
        metadata = message_metadata(turn, progress)
        last = _closing(next_seq, step, [*text, events.StepEnded(step), events.TurnEnded(reason, metadata=metadata)])
        write_events(turn, last_seq, [*recorded, *last])
        _end(turn, TurnState.COMPLETED, reason, workflow, progress, metadata, never_paused=claim.never_paused)
    return last


def fail_turn(
    claim: Claim,
    error: str,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    left: UnfinishedAnswer = NOTHING_LEFT,
) -> list[Recorded]:
    """End a turn as failed, with an error that is shown to people; return the closing stream events. LeaseLost.

    People have read the texts of an answer that was not finished, so they stay, marked as broken off. Its calls are not
    stored, and clients that were shown them are told that they were not run.
    """
    with claimed_turn(claim) as (turn, last_seq):
        turn.error = clean_text(error)[:2000]
        kept = keep_answer(turn, left, BROKEN_OFF)
        remarks = [events.AnswerRemarked(remark) for remark in remarks_on(BROKEN_OFF, {})] if kept else []
        workflow, closed = _close_after_failure(claim, turn)
        closed += [events.ToolFailed(call_id, NOT_RUN) for call_id in left.calls]
        progress = queries.steps_of(turn)
        metadata = message_metadata(turn, progress)
        last = _closing(next_seq, step, [*closed, *remarks, events.TurnFailed(turn.error, metadata)])
        write_events(turn, last_seq, [*recorded, *last])
        _end(turn, TurnState.FAILED, FinishReason.ERROR, workflow, progress, metadata)
        _record_failure(turn, left.metered.answered_by if left.metered is not None else {})
    return last


def abandon_turn(claim: Claim, error: str, step: int, recorded: Sequence[Recorded], next_seq: int) -> list[Recorded]:
    """End a turn as failed whose end could not be stored, without its message, checkpoint and stream events. LeaseLost.

    Readers see the committed steps and the error. The returned event is only for those who follow the turn now: others
    read from the turn how it ended.
    """
    with claimed_turn(claim) as (turn, _):
        turn.error = clean_text(error)[:2000]
        workflow, _closed = _close_after_failure(claim, turn)
        _end(turn, TurnState.FAILED, FinishReason.ERROR, workflow, None, {})
        _record_failure(turn, {})
    return _closing(next_seq, step, [events.TurnFailed(turn.error)])


def _close_after_failure(claim: Claim, turn: Turn) -> tuple[Workflow | None, list[events.Event]]:
    give_back_calls(claim)
    return _close_calls(turn, by=None, via=RUNNER, reason="The turn failed before this was done.")


def _record_failure(turn: Turn, answered_by: Mapping[str, str]) -> None:
    data = {"error": turn.error} | ({"answered_by": answered_by} if answered_by else {})
    audit.record("turn.failed", audit_subject(turn), data=data, actor=None, via=RUNNER)


def stop_turn(chat: Chat, *, by: Actor, via: Door) -> bool:
    """Stop the chat's turn: at once if it is suspended or queued, at its next write if it runs. False without a turn.

    Raises NotAllowed for people who may only read.
    """
    if not permissions.may_cancel(by, chat.owner_id):
        raise NotAllowed(_("Only the chat's owner and people who can decide can stop it."))
    with transaction.atomic():
        found = queries.unfinished_turn(chat)
        return found is not None and _stop(found.pk, by=by, via=via)


def _stop(turn_id: int, *, by: Actor | None, via: str) -> bool:
    with in_line(("turn", turn_id)):
        turn = Turn.objects.select_for_update(of=("self",), no_key=True).select_related("chat__owner").get(pk=turn_id)
    if not turn.unfinished or turn.stopped:
        return False
    turn.stopped, turn.stopped_by = True, by.get_username() if by is not None else ""
    turn.save(update_fields=["stopped", "stopped_by"])
    audit.record("turn.stopped", audit_subject(turn), data={"state": turn.state}, actor=by, via=via)
    if turn.state == TurnState.RUNNING:
        after_commit(doorbell.notify_stop, turn.pk)
    else:
        workflow, _closed = _close_calls(turn, by=by, via=Door.STOP, reason=STOPPED)
        progress = queries.steps_of(turn)
        metadata = message_metadata(turn, progress)
        _end(turn, TurnState.STOPPED, FinishReason.OTHER, workflow, progress, metadata)
    notify_after_commit(turn.chat_id)
    return True


def end_stopped(
    claim: Claim, left: UnfinishedAnswer, step: int, recorded: Sequence[Recorded], next_seq: int
) -> list[Recorded]:
    """End a turn that was stopped while it ran: keep the model's texts so far, and cancel its open calls. LeaseLost."""
    with claimed_turn(claim) as (turn, last_seq):
        keep_answer(turn, left, STOPPED_ANSWER)
        give_back_calls(claim)
        workflow, closed = _close_calls(turn, by=None, via=Door.STOP, reason=STOPPED)
        progress = queries.steps_of(turn)
        text = _closing_text(progress, step, projection.STOPPED)
        metadata = message_metadata(turn, progress)
        ended = events.TurnEnded(FinishReason.OTHER, stopped=True, metadata=metadata)
        last = _closing(next_seq, step, [*closed, *text, ended])
        write_events(turn, last_seq, [*recorded, *last])
        _end(turn, TurnState.STOPPED, FinishReason.OTHER, workflow, progress, metadata)
    return last


def _closing(next_seq: int, step: int, closing: Sequence[events.Event]) -> list[Recorded]:
    return [Recorded(next_seq + offset, step, event) for offset, event in enumerate(closing)]


def _closing_text(progress: Progress, step: int, text: str) -> list[events.Event]:
    """Return the events for the text with which a message ends whose turn ended without a text of its own."""
    views = progress.views
    closing = projection.closing_parts(views, projection.message_parts(views), text)
    if not closing:
        return []
    written: list[events.Event] = [
        events.TextStarted("closing"),
        events.TextDelta("closing", closing[-1]["text"]),
        events.TextEnded("closing"),
    ]
    return written if len(closing) == 1 else [events.StepEnded(step), events.StepStarted(step + 1), *written]


def _close_calls(turn: Turn, *, by: Actor | None, via: str, reason: str) -> tuple[Workflow | None, list[events.Event]]:
    """Cancel the pending requests, stop the sub-agents, and close every open call.

    Return the locked workflow, and the stream events about the closed calls.

    Every call needs a result, because models refuse a history with a call without one. Locks are taken from the top down,
    all turns before the workflow.
    """
    delegated = subagents.delegated(turn)
    if delegated:
        _lock_below(turn)
    workflow = lock_workflow(turn)
    waiting = [request.pk for request in queries.own_open_requests(turn)]
    desk.cancel_requests(waiting, by=by, via=Door(via), comment=reason)
    for _call, below in delegated:
        _stop(below.pk, by=by, via=via)
    closed: list[events.Event] = []
    for call in turn.tool_calls.exclude(state__in=CLOSED).order_by("id"):
        call.turn = turn
        if call.state == CallState.EXECUTING:
            # The audit log has to say that the outcome is unknown.
            call.state = CallState.UNKNOWN
        error = OUTCOME_UNKNOWN if call.state == CallState.UNKNOWN else reason
        close_call(call, CallState.CANCELLED, error_text=error, by=by, via=via)
        closed.append(events.ToolFailed(call.tool_call_id, error))
    return workflow, closed


def _lock_below(turn: Turn) -> None:
    """Lock every turn that may be below this one, the oldest first; all of them are younger than this one."""
    younger = Turn.objects.filter(root=turn.root_id or turn.pk, pk__gt=turn.pk, state__in=UNFINISHED).order_by("pk")
    known: set[int] = set()
    # A turn may have started another one before it was locked.
    while not known.issuperset(found := younger.select_for_update(no_key=True).values_list("pk", flat=True)):
        known |= set(found)


def _end(
    turn: Turn,
    state: TurnState,
    reason: FinishReason,
    workflow: Workflow | None,
    progress: Progress | None,
    metadata: dict[str, Any],
    *,
    never_paused: bool = False,
) -> None:
    """End a turn; without its message and checkpoint if they cannot be stored, so that there is no `progress`."""
    turn.state, turn.finish_reason, turn.ended_at, turn.lease_until = state, reason, timezone.now(), None
    turn.save(update_fields=["state", "finish_reason", "ended_at", "lease_until", "error", "usage"])
    closing = {TurnState.COMPLETED: projection.NO_TEXT, TurnState.STOPPED: projection.STOPPED}.get(state, "")
    parts = parts_of(turn, progress, closing=closing) if progress is not None else []
    if progress is not None:
        store_message(turn, parts, metadata)
        write_checkpoint(turn, parts, CheckpointKind.FINAL, reason, first=never_paused)
    Chat.objects.filter(pk=turn.chat_id).update(updated_at=turn.ended_at)
    remarks = remarks_in(parts)
    for refused in (remark for remark in remarks if remark["code"] == REFUSAL):
        audit.record("turn.refused", audit_subject(turn), data=refused, actor=None, via=RUNNER)
    ending = {
        "state": turn.state,
        "finish_reason": reason,
        "stopped": turn.stopped,
        "usage": turn.usage,
        "error": turn.error,
        "remarks": remarks,
    }
    enqueue_event("turn.completed", turn, ending)
    resume_parent(turn)
    # A sub-agent's turn has no workflow of its own.
    if workflow is not None and turn.root_id is None:
        ended_as = {TurnState.COMPLETED: WorkflowState.COMPLETED, TurnState.STOPPED: WorkflowState.CANCELLED}
        desk.end_workflow(workflow, state=ended_as.get(state, WorkflowState.FAILED))
    notify_after_commit(turn.chat_id)
