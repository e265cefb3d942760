"""Apply decisions to a suspended turn: its calls take their outcomes, and it is queued again when none waits."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import BigAutoField

from approvals.db.canonical_json import canonical
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import after_commit, async_commit
from approvals.models import ApprovalRequest
from approvals.states import Kind, Status
from chats.actions import transitions
from chats.actions.locking import LockedTurn, lock_turn, try_to_lock
from chats.actions.writes import Signed, notify_all_after_commit, queue_turn, store
from chats.agent import registry
from chats.agent.tools import QuestionAnswer
from chats.models import Turn
from chats.queries.values import CallView
from chats.states import CallState, TurnState

logger = logging.getLogger(__name__)

#: The states in which a call waits for people.
WAITING = frozenset({CallState.WAITING, CallState.UNKNOWN})
EXPIRED = "No one answered before the deadline."
DECLINED = "Declined without a message."


#: The state of a turn.
_STATE: Prepared[str] = Prepared(
    lambda: Turn.objects.filter(pk=Parameter("pk", BigAutoField())).values_list(
        "state", flat=True
    )
)


def is_suspended(turn_id: int) -> bool:
    """Check without a lock first, because a lock alone makes the commit wait for the disk."""
    return _STATE.first(pk=turn_id) == TurnState.SUSPENDED


def resume_turn(turn_id: int, *, waits: bool = True) -> bool:
    """Apply the decisions made since the pause, and queue the turn if it need not wait; return whether it continues.

    Safe to repeat. With `waits=False`, do nothing if another transaction has locked the turn.
    """
    if not is_suspended(turn_id):
        return False
    with transaction.atomic():
        locked = lock_turn(turn_id) if waits or try_to_lock(turn_id) else None
        if locked is None or locked.turn.state != TurnState.SUSPENDED:
            return False
        signed = settle_requests(locked)
        if not signed:
            # If a crash of the database loses this write, the sweep resumes the turn again from the stored decision. A result,
            # once written, must not be lost.
            async_commit()
        store(locked, signed)
        resumed = resume_locked(locked)
        notify_all_after_commit(locked.turn)
    return resumed


def resume_locked(locked: LockedTurn) -> bool:
    """Queue a suspended turn locked by the caller, unless it has to wait; return whether it was queued."""
    turn = locked.turn
    if turn.state != TurnState.SUSPENDED or locked.at_rest():
        return False
    turn.state = TurnState.QUEUED
    turn.finish_reason = ""
    turn.save(update_fields=["state", "finish_reason"])
    queue_turn(turn.pk)
    resume_parent(turn)
    return True


def resume_parent(turn: Turn) -> None:
    """After the commit, resume the turn that waits for this one. If that gets lost, the sweep does it."""
    if turn.parent_call is not None:
        after_commit(resume_turn, turn.parent_call.turn_id)


def settle_requests(locked: LockedTurn) -> dict[str, Signed]:
    """Apply ended requests to the waiting calls of a locked turn; the caller stores the turn.

    Return, by toolCallId, the people who ended the calls that now have a result.
    """
    decided = [
        call for call in locked.progress.calls if call.decided and call.state in WAITING
    ]
    for call in decided:
        if call.state == CallState.WAITING and call.approved:
            locked.progress = transitions.approve(locked.progress, call.tool_call_id)
    others = [
        call for call in decided if call.state == CallState.UNKNOWN or not call.approved
    ]
    by_request = {
        call.recovery_id if call.state == CallState.UNKNOWN else call.request_id: call
        for call in others
    }
    signed: dict[str, Signed] = {}
    for request in (
        ApprovalRequest.objects.select_related("decision").filter(pk__in=by_request)
        if by_request
        else ()
    ):
        call = by_request[str(request.pk)]
        decision = request.decision
        if request.status == Status.APPROVED:
            locked.progress = transitions.approve(locked.progress, call.tool_call_id)
            continue
        state, output, error_text = outcome_of(locked.turn, call, request)
        locked.progress = transitions.close(
            locked.progress,
            call.tool_call_id,
            state,
            output=output,
            error_text=error_text,
        )
        signed[call.tool_call_id] = (decision.actor, decision.via)
    return signed


def outcome_of(
    turn: Turn, call: CallView, request: ApprovalRequest
) -> tuple[CallState, Any, str]:
    """Return the effect of an ended request on its call: the state, the output, and the error text."""
    decision = request.decision
    why = f" {decision.comment}" if decision.comment else ""
    match (request.kind, request.status):
        case (Kind.RECOVERY, Status.ANSWERED):
            return CallState.SUCCEEDED, decision.answer, ""
        case (Kind.RECOVERY, Status.REJECTED):
            return CallState.FAILED, None, f"A person found that it failed.{why}"
        case (_, Status.CANCELLED):
            return CallState.CANCELLED, None, f"Cancelled before it was answered.{why}"
        case (Kind.APPROVAL, _):
            return (
                CallState.DENIED,
                None,
                decision.comment
                or (EXPIRED if request.status == Status.EXPIRED else ""),
            )
        case (_, Status.ANSWERED):
            return CallState.SUCCEEDED, _output(turn, call, request), ""
        case (_, Status.EXPIRED) if request.has_default:
            return CallState.SUCCEEDED, _output(turn, call, request), ""
        case (_, Status.EXPIRED):
            return CallState.FAILED, None, EXPIRED
        case _:
            return CallState.FAILED, None, decision.comment or DECLINED


def _output(turn: Turn, call: CallView, request: ApprovalRequest) -> Any:
    """Return the answer in the tool's output shape; unchanged if the tool is gone."""
    decision = request.decision
    try:
        tool = registry.get(settings.HITL_AGENTS, turn.agent).tool(call.name)
    except registry.UnknownAgent:
        tool = None
    if tool is None:
        return decision.answer
    answer = QuestionAnswer(
        value=decision.answer,
        request_id=str(request.pk),
        requested_at=round(request.created_at.timestamp() * 1000),
        responded_at=round(decision.decided_at.timestamp() * 1000),
        timed_out=request.status == Status.EXPIRED,
        priority=request.priority,
    )
    try:
        output = tool.answer(answer)
        canonical(output)
    except Exception:
        # An error in the tool's code must not keep the answer from the model.
        logger.exception(
            "Tool %s could not shape the answer to call %s",
            call.name,
            call.tool_call_id,
        )
        return decision.answer
    return output
