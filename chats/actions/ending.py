"""End a turn: finished, failed, or stopped by a person or by the policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.access import permissions
from approvals.access.standing import Standing, read_again, standing_of
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import after_commit
from approvals.exceptions import NotAllowed
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor
from approvals.record import audit
from approvals.states import Door, Status, WorkflowState
from chats import doorbell, queries
from chats.actions import rows, transitions
from chats.actions.calling import Written
from chats.actions.locking import Claim, Locked, Recorded, claimed_turn, lock_turn
from chats.actions.resuming import WAITING, resume_parent
from chats.actions.stepping import NOTHING_LEFT, NewStep, UnfinishedAnswer, add_step, keep_answer
from chats.actions.storing import RUNNER, audit_subject, enqueue_event, store
from chats.actions.writes import (
    lock_workflow,
    notify_after_commit,
    number_events,
    rest,
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
from chats.states import CLOSED, UNFINISHED, CheckpointKind, FinishReason, TurnState

STOPPED = "The turn was stopped before this was done."
HALTED = "No one decided before the deadline, and the policy stops the run then."
NOT_RUN = "The answer was broken off before this call was run."
TURN_FAILED = "The turn failed before this was done."


def finish_turn(
    claim: Claim,
    reason: FinishReason,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    new: NewStep | None = None,
) -> Written:
    """End a turn as completed, with its closing stream events. LeaseLost, StopRequested.

    `new` is a last step to store in the same commit, as for `pause_turn`.
    """
    with claimed_turn(claim) as locked:
        if locked.turn.stopped:
            raise StopRequested
        if new is not None:
            add_step(locked, new)
        workflow = lock_workflow(locked.turn)
        store(locked)
        text = _closing_text(locked.progress, step, projection.NO_TEXT)
        metadata = message_metadata(locked.turn, locked.progress)
        ended = events.TurnEnded(reason, metadata=metadata)
        added = number_events(next_seq, step, [*text, events.StepEnded(step), ended])
        write_events(locked, [*recorded, *added])
        _end(locked, TurnState.COMPLETED, reason, workflow, metadata)
    return Written(locked.claim(), added)


def fail_turn(
    claim: Claim,
    error: str,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    left: UnfinishedAnswer = NOTHING_LEFT,
    begun: Collection[str] = (),
) -> Written:
    """End a turn as failed, with an error that is shown to people, and with its closing stream events. LeaseLost.

    People have read the texts of an answer that was not finished, so they stay, marked as broken off. Its calls are not
    stored, and clients that were shown them are told that they were not run. `begun` is as for `release_turn`.
    """
    with claimed_turn(claim) as locked:
        turn = locked.turn
        turn.error = clean_text(error)[:2000]
        kept = keep_answer(locked, left, BROKEN_OFF)
        remarks = [events.AnswerRemarked(remark) for remark in remarks_on(BROKEN_OFF, {})] if kept else []
        workflow, closed = _close_calls(locked, begun, by=None, via=RUNNER, reason=TURN_FAILED)
        closed += [events.ToolFailed(call_id, NOT_RUN) for call_id in left.calls]
        metadata = message_metadata(turn, locked.progress)
        added = number_events(next_seq, step, [*closed, *remarks, events.TurnFailed(turn.error, metadata)])
        write_events(locked, [*recorded, *added])
        _end(locked, TurnState.FAILED, FinishReason.ERROR, workflow, metadata)
        _record_failure(turn, left.metered.answered_by if left.metered is not None else {})
    return Written(locked.claim(), added)


def abandon_turn(
    claim: Claim, error: str, step: int, recorded: Sequence[Recorded], next_seq: int, *, begun: Collection[str] = ()
) -> Written:
    """End a turn as failed whose end could not be stored, without its message, checkpoint and stream events. LeaseLost.

    Readers see the committed steps and the error. The added event is only for those who follow the turn now: others read
    from the turn how it ended.
    """
    # Without what has happened since the last commit, which may be what cannot be stored.
    with claimed_turn(replace(claim, known=None)) as locked:
        locked.turn.error = clean_text(error)[:2000]
        workflow, _closed = _close_calls(locked, begun, by=None, via=RUNNER, reason=TURN_FAILED)
        _end(locked, TurnState.FAILED, FinishReason.ERROR, workflow, {}, with_message=False)
        _record_failure(locked.turn, {})
    return Written(locked.claim(), number_events(next_seq, step, [events.TurnFailed(locked.turn.error)]))


def _record_failure(turn: Turn, answered_by: Mapping[str, str]) -> None:
    data = {"error": turn.error} | ({"answered_by": answered_by} if answered_by else {})
    audit.record("turn.failed", audit_subject(turn), data=data, actor=None, via=RUNNER)


def stop_turn(chat: Chat, *, by: Actor, via: Door) -> bool:
    """Stop the chat's turn: at once if it is suspended or queued, at its next write if it runs. False without a turn.

    Raises NotAllowed for people who may only read.
    """
    _require_may_stop(standing_of(by), chat)
    with transaction.atomic():
        turn = queries.unfinished_turn(chat)
        return turn is not None and _stop(turn.pk, by=by, via=via)


def _require_may_stop(by: Standing, chat: Chat) -> None:
    if not permissions.may_stop(by, chat.owner_id):
        raise NotAllowed(_("Only the chat's owner and people who can decide can stop it."))


def halt_turn(turn_id: int) -> bool:
    """Stop a suspended turn if a request of its run has expired on terms that stop the run; whether it did.

    A turn of a sub-agent is stopped from the top, with all that it is part of.
    """
    with transaction.atomic():
        turn = Turn.objects.select_related("chat", "root__chat").filter(pk=turn_id).first()
        if turn is None or turn.state != TurnState.SUSPENDED:
            return False
        top = turn.top
        expired = ApprovalRequest.objects.filter(
            scope=top.chat.scope, workflow__key=str(top.run_id), status=Status.EXPIRED, terms__isnull=False
        )
        return any(request.halted for request in expired.only("status", "terms")) and _stop(
            top.pk, by=None, via=Door.DEADLINE, reason=HALTED
        )


def _stop(turn_id: int, *, by: Actor | None, via: str, reason: str = STOPPED) -> bool:
    locked = lock_turn(turn_id)
    if locked is None or not locked.turn.unfinished or locked.turn.stopped:
        return False
    turn = locked.turn
    if by is not None:
        _require_may_stop(read_again(by), turn.chat)
    turn.stopped, turn.stopped_by = True, by.get_username() if by is not None else ""
    turn.save(update_fields=["stopped", "stopped_by"])
    audit.record("turn.stopped", audit_subject(turn), data={"state": turn.state}, actor=by, via=via)
    if turn.state == TurnState.RUNNING:
        after_commit(doorbell.notify_stop, turn.pk)
    else:
        workflow, _closed = _close_calls(locked, (), by=by, via=Door.STOP, reason=reason)
        _end(locked, TurnState.STOPPED, FinishReason.OTHER, workflow, message_metadata(turn, locked.progress))
    notify_after_commit(turn.chat_id)
    return True


def end_stopped(
    claim: Claim,
    left: UnfinishedAnswer,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    begun: Collection[str] = (),
) -> Written:
    """End a turn that was stopped while it ran: keep the model's texts so far, and cancel its open calls. LeaseLost."""
    with claimed_turn(claim) as locked:
        keep_answer(locked, left, STOPPED_ANSWER)
        workflow, closed = _close_calls(locked, begun, by=None, via=Door.STOP, reason=STOPPED)
        text = _closing_text(locked.progress, step, projection.STOPPED)
        metadata = message_metadata(locked.turn, locked.progress)
        ended = events.TurnEnded(FinishReason.OTHER, stopped=True, metadata=metadata)
        added = number_events(next_seq, step, [*closed, *text, ended])
        write_events(locked, [*recorded, *added])
        _end(locked, TurnState.STOPPED, FinishReason.OTHER, workflow, metadata)
    return Written(locked.claim(), added)


def _closing_text(progress: Progress, step: int, text: str) -> list[events.Event]:
    """Return the events for the text with which a message ends whose turn ended without a text of its own."""
    closing = projection.closing_parts(progress.steps, projection.message_parts(progress.steps), text)
    if not closing:
        return []
    written: list[events.Event] = [
        events.TextStarted("closing"),
        events.TextDelta("closing", closing[-1]["text"]),
        events.TextEnded("closing"),
    ]
    return written if len(closing) == 1 else [events.StepEnded(step), events.StepStarted(step + 1), *written]


def _close_calls(
    locked: Locked, begun: Collection[str], *, by: Actor | None, via: str, reason: str
) -> tuple[Workflow | None, list[events.Event]]:
    """Cancel the pending requests, stop the sub-agents, and close every open call of a locked turn, which is stored.

    Return the locked workflow, and the stream events about the closed calls.

    Locks are taken from the top down, all turns before the workflow.
    """
    turn = locked.turn
    if turn.state == TurnState.RUNNING:
        locked.progress = transitions.give_back(locked.progress, begun)
    delegated = subagents.delegated(turn)
    if delegated:
        _lock_below(turn)
    workflow = lock_workflow(turn)
    waiting = [call.recovery_id or call.request_id for call in locked.progress.calls if call.state in WAITING]
    desk.cancel_requests([UUID(pk) for pk in waiting if pk], by=by, via=Door(via), comment=reason)
    for _call, below in delegated:
        _stop(below.pk, by=by, via=via, reason=reason)
    open_calls = [call.tool_call_id for call in locked.progress.calls if call.state not in CLOSED]
    locked.progress = transitions.cancel_open(locked.progress, reason)
    store(locked, dict.fromkeys(open_calls, (by, via)))
    closed = [call for call in locked.progress.calls if call.tool_call_id in open_calls]
    return workflow, [events.ToolFailed(call.tool_call_id, call.error_text) for call in closed]


def _lock_below(turn: Turn) -> None:
    """Lock every turn that may be below this one, the oldest first; all of them are younger than this one."""
    younger = Turn.objects.filter(root=turn.root_id or turn.pk, pk__gt=turn.pk, state__in=UNFINISHED).order_by("pk")
    known: set[int] = set()
    # A turn may have started another one before it was locked.
    while not known.issuperset(turn_ids := younger.select_for_update(no_key=True).values_list("pk", flat=True)):
        known |= set(turn_ids)


def _end(
    locked: Locked,
    state: TurnState,
    reason: FinishReason,
    workflow: Workflow | None,
    metadata: dict[str, Any],
    *,
    with_message: bool = True,
) -> None:
    """End a turn; without its message and checkpoint if they cannot be stored."""
    turn = locked.turn
    turn.state, turn.finish_reason, turn.ended_at, turn.lease_until = state, reason, timezone.now(), None
    turn.usage = locked.progress.usage
    rest(turn)
    closing = {TurnState.COMPLETED: projection.NO_TEXT, TurnState.STOPPED: projection.STOPPED}.get(state, "")
    parts = projection.message_parts(locked.progress.steps, closing=closing) if with_message else []
    if with_message:
        store_message(turn, parts, metadata)
        steps, is_first = locked.progress.steps, locked.never_paused
        write_checkpoint(turn, parts, CheckpointKind.FINAL, reason, steps=steps, is_first=is_first)
    rows.TOUCH_CHAT.run(pk=turn.chat_id, updated_at=turn.ended_at)
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
    enqueue_event("turn.completed", locked, ending)
    resume_parent(turn)
    # A sub-agent's turn has no workflow of its own.
    if workflow is not None and turn.root_id is None:
        ended_as = {TurnState.COMPLETED: WorkflowState.COMPLETED, TurnState.STOPPED: WorkflowState.CANCELLED}
        desk.end_workflow(workflow, state=ended_as.get(state, WorkflowState.FAILED))
    notify_after_commit(turn.chat_id)
