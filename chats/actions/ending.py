"""End a turn: finished, failed, or stopped by a person or by the policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction
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
from approvals.states import Door, Status
from chats import doorbell, queries
from chats.actions import transitions
from chats.actions.calling import Written
from chats.actions.locking import Claim, LockedTurn, Recorded, claimed_turn, lock_turn
from chats.actions.resuming import WAITING
from chats.actions.stepping import (
    NOTHING_LEFT,
    NewStep,
    UnfinishedAnswer,
    add_step,
    keep_answer,
)
from chats.actions.turn_ends import closing_text, end_turn
from chats.actions.writes import (
    RUNNER,
    audit_subject,
    lock_workflow,
    notify_after_commit,
    number_events,
    store,
    write_events,
)
from chats.agent import events
from chats.exceptions import StopRequested
from chats.models import Chat, Turn
from chats.queries import projection, subagents
from chats.queries.usage import message_metadata
from chats.queries.values import BROKEN_OFF, STOPPED_ANSWER, remarks_on
from chats.states import CLOSED, UNFINISHED, FinishReason, TurnState

STOPPED = "The turn was stopped before this was done."
HALTED = "No one decided before the deadline, so the policy stopped the run."
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
    """End a turn as completed, with its closing stream events. Raise LeaseLost or StopRequested.

    `new` is a last step to store in the same commit, as for `pause_turn`.
    """
    with claimed_turn(claim) as locked:
        if locked.turn.stopped:
            raise StopRequested
        if new is not None:
            add_step(locked, new)
        workflow = lock_workflow(locked.turn)
        store(locked)
        text = closing_text(locked.progress, step, projection.NO_TEXT)
        metadata = message_metadata(locked.turn, locked.progress)
        ended = events.TurnEnded(reason, metadata=metadata)
        added = number_events(next_seq, step, [*text, events.StepEnded(step), ended])
        write_events(locked, [*recorded, *added])
        end_turn(locked, TurnState.COMPLETED, reason, workflow, metadata)
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
    """End a turn as failed, with an error for people, and with its closing stream events. Raise LeaseLost.

    People have read the texts of an unfinished answer, so these stay, marked as broken off. Its calls are not stored, and
    clients that saw them are told that they were not run. `begun` is as for `release_turn`.
    """
    with claimed_turn(claim) as locked:
        turn = locked.turn
        turn.error = clean_text(error)[:2000]
        kept = keep_answer(locked, left, BROKEN_OFF)
        remarks = (
            [events.AnswerRemarked(remark) for remark in remarks_on(BROKEN_OFF, {})]
            if kept
            else []
        )
        workflow, closed = _close_calls(
            locked, begun, by=None, via=RUNNER, reason=TURN_FAILED
        )
        closed += [events.ToolFailed(call_id, NOT_RUN) for call_id in left.calls]
        metadata = message_metadata(turn, locked.progress)
        added = number_events(
            next_seq, step, [*closed, *remarks, events.TurnFailed(turn.error, metadata)]
        )
        write_events(locked, [*recorded, *added])
        end_turn(locked, TurnState.FAILED, FinishReason.ERROR, workflow, metadata)
        _record_failure(
            turn, left.metered.answered_by if left.metered is not None else {}
        )
    return Written(locked.claim(), added)


def abandon_turn(
    claim: Claim,
    error: str,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    begun: Collection[str] = (),
) -> Written:
    """End a turn as failed when its end could not be stored, without its message, checkpoint and stream events. Raise LeaseLost.

    Readers see the committed steps and the error. The added event is only for current followers: others read the turn's end from
    its row.
    """
    # Without the events since the last commit, which may be the ones that cannot be stored.
    with claimed_turn(replace(claim, known=None)) as locked:
        locked.turn.error = clean_text(error)[:2000]
        workflow, _closed = _close_calls(
            locked, begun, by=None, via=RUNNER, reason=TURN_FAILED
        )
        end_turn(
            locked,
            TurnState.FAILED,
            FinishReason.ERROR,
            workflow,
            {},
            with_message=False,
        )
        _record_failure(locked.turn, {})
    return Written(
        locked.claim(),
        number_events(next_seq, step, [events.TurnFailed(locked.turn.error)]),
    )


def _record_failure(turn: Turn, answered_by: Mapping[str, str]) -> None:
    data = {"error": turn.error} | ({"answered_by": answered_by} if answered_by else {})
    audit.record("turn.failed", audit_subject(turn), data=data, actor=None, via=RUNNER)


def stop_turn(chat: Chat, *, by: Actor, via: Door) -> bool:
    """Stop the chat's turn: at once if it is suspended or queued, at its next write if it runs. Return False without a turn.

    Raise NotAllowed for people who may only read.
    """
    _require_may_stop(standing_of(by), chat)
    with transaction.atomic():
        turn = queries.unfinished_turn(chat)
        return turn is not None and _stop(turn.pk, by=by, via=via)


def _require_may_stop(by: Standing, chat: Chat) -> None:
    if not permissions.may_stop(by, chat.owner_id):
        raise NotAllowed(
            _("Only the chat's owner and people who can decide can stop it.")
        )


def halt_turn(turn_id: int) -> bool:
    """Stop a suspended turn if a request of its run has expired on terms that stop the run; return whether it was stopped.

    A sub-agent's turn is stopped from the top turn down.
    """
    with transaction.atomic():
        turn = (
            Turn.objects.select_related("chat", "root__chat").filter(pk=turn_id).first()
        )
        if turn is None or turn.state != TurnState.SUSPENDED:
            return False
        top = turn.top
        expired = ApprovalRequest.objects.filter(
            scope=top.chat.scope,
            workflow__key=str(top.run_id),
            status=Status.EXPIRED,
            terms__isnull=False,
        )
        halted = any(request.halted for request in expired.only("status", "terms"))
        return halted and _stop(top.pk, by=None, via=Door.DEADLINE, reason=HALTED)


def _stop(turn_id: int, *, by: Actor | None, via: str, reason: str = STOPPED) -> bool:
    locked = lock_turn(turn_id)
    if locked is None or not locked.turn.unfinished or locked.turn.stopped:
        return False
    turn = locked.turn
    if by is not None:
        _require_may_stop(read_again(by), turn.chat)
    turn.stopped = True
    turn.stopped_by = by.get_username() if by is not None else ""
    turn.save(update_fields=["stopped", "stopped_by"])
    audit.record(
        "turn.stopped",
        audit_subject(turn),
        data={"state": turn.state},
        actor=by,
        via=via,
    )
    if turn.state == TurnState.RUNNING:
        after_commit(doorbell.notify_stop, turn.pk)
    else:
        workflow, _closed = _close_calls(
            locked, (), by=by, via=Door.STOP, reason=reason
        )
        end_turn(
            locked,
            TurnState.STOPPED,
            FinishReason.OTHER,
            workflow,
            message_metadata(turn, locked.progress),
        )
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
    """End a turn that was stopped while running: keep the model's texts so far, and cancel its open calls. Raise LeaseLost."""
    with claimed_turn(claim) as locked:
        keep_answer(locked, left, STOPPED_ANSWER)
        workflow, closed = _close_calls(
            locked, begun, by=None, via=Door.STOP, reason=STOPPED
        )
        text = closing_text(locked.progress, step, projection.STOPPED)
        metadata = message_metadata(locked.turn, locked.progress)
        ended = events.TurnEnded(FinishReason.OTHER, stopped=True, metadata=metadata)
        added = number_events(next_seq, step, [*closed, *text, ended])
        write_events(locked, [*recorded, *added])
        end_turn(locked, TurnState.STOPPED, FinishReason.OTHER, workflow, metadata)
    return Written(locked.claim(), added)


def _close_calls(
    locked: LockedTurn,
    begun: Collection[str],
    *,
    by: Actor | None,
    via: str,
    reason: str,
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
    waiting = [
        call.recovery_id or call.request_id
        for call in locked.progress.calls
        if call.state in WAITING
    ]
    desk.cancel_requests(
        [UUID(pk) for pk in waiting if pk], by=by, via=Door(via), comment=reason
    )
    for _call, below in delegated:
        _stop(below.pk, by=by, via=via, reason=reason)
    open_calls = [
        call.tool_call_id for call in locked.progress.calls if call.state not in CLOSED
    ]
    locked.progress = transitions.cancel_open(locked.progress, reason)
    store(locked, dict.fromkeys(open_calls, (by, via)))
    closed = [call for call in locked.progress.calls if call.tool_call_id in open_calls]
    return workflow, [
        events.ToolFailed(call.tool_call_id, call.error_text) for call in closed
    ]


def _lock_below(turn: Turn) -> None:
    """Lock every turn that may be below this one, oldest first; all of them are younger than this one."""
    younger = Turn.objects.filter(
        root=turn.root_id or turn.pk, pk__gt=turn.pk, state__in=UNFINISHED
    ).order_by("pk")
    known: set[int] = set()
    # A turn may have started another one before it was locked.
    while not known.issuperset(
        turn_ids := younger.select_for_update(no_key=True).values_list("pk", flat=True)
    ):
        known |= set(turn_ids)
