"""Apply decisions to a suspended turn: its calls take their outcomes, and it is queued again when none waits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import BigAutoField

from approvals.models import ApprovalRequest, Decision
from approvals.runtime.canonical import canonical
from approvals.runtime.prepared import Parameter, Prepared
from approvals.runtime.transactions import after_commit, async_commit
from approvals.states import Kind, Status
from chats import queries
from chats.actions.writes import close_call, notify_all_after_commit, queue_turn
from chats.agent import registry
from chats.agent.tools import Answer
from chats.models import ToolCall, Turn
from chats.queries import subagents
from chats.states import CallState, TurnState

logger = logging.getLogger(__name__)

EXPIRED = "Nobody answered before the deadline."
DECLINED = "Declined without a word."


_PK = Parameter("pk", BigAutoField())
_STATE: Prepared[str] = Prepared(lambda: Turn.objects.filter(pk=_PK).values_list("state", flat=True))
_LOCKED: Prepared[Turn] = Prepared(
    lambda: Turn.objects.select_for_update(of=("self",), no_key=True).select_related("chat__owner").filter(pk=_PK)
)
_FREE: Prepared[Turn] = Prepared(
    lambda: (
        Turn.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        .select_related("chat__owner")
        .filter(pk=_PK)
    )
)


def resume_turn(turn_id: int, *, waits: bool = True) -> bool:
    """Apply what was decided since the pause; return whether the turn goes on. Safe to repeat.

    Without `waits`, do nothing if another transaction has locked the turn.
    """
    if _STATE.first(pk=turn_id) != TurnState.SUSPENDED:
        # Check without a lock first, because a lock alone makes the commit wait for the disk.
        return False
    with transaction.atomic():
        turn = (_LOCKED if waits else _FREE).first(pk=turn_id)
        if turn is None or turn.state != TurnState.SUSPENDED:
            return False
        progress = queries.steps_of(turn)
        if not _settle_calls(progress.calls):
            # If a crash of the database loses this write, the sweep resumes the turn again from the stored decision. A
            # result, once written, must not be lost.
            async_commit()
        resumed = resume_locked(turn, progress.calls)
        notify_all_after_commit(turn)
    return resumed


def resume_locked(turn: Turn, calls: Sequence[ToolCall] | None = None) -> bool:
    """Queue a suspended turn that the caller has locked, unless it has to wait; return whether it was queued.

    The calls of its last step are read unless they are given.
    """
    if turn.state != TurnState.SUSPENDED or subagents.at_rest(turn, calls):
        return False
    turn.state, turn.finish_reason = TurnState.QUEUED, ""
    turn.save(update_fields=["state", "finish_reason"])
    queue_turn(turn.pk)
    resume_parent(turn)
    return True


def resume_parent(turn: Turn) -> None:
    """After the commit, resume the turn that waits for this one. If that gets lost, the sweep does it."""
    if turn.parent_call is not None:
        after_commit(resume_turn, turn.parent_call.turn_id)


def _settle_calls(calls: Iterable[ToolCall]) -> bool:
    """Apply ended requests to the calls of a suspended turn; return whether that wrote a result."""
    written = False
    for call in calls:
        if call.state not in {CallState.WAITING, CallState.UNKNOWN}:
            continue
        request = call.recovery if call.state == CallState.UNKNOWN else call.approval
        decision = queries.decision_of(request)
        if request is not None and decision is not None:
            written |= _settle(call, request, decision)
    return written


def _settle(call: ToolCall, request: ApprovalRequest, decision: Decision) -> bool:
    if request.status == Status.APPROVED:
        call.state = CallState.READY
        call.save(update_fields=["state"])
        return False
    state, output, error_text = outcome_of(call, request, decision)
    close_call(call, state, output=output, error_text=error_text, by=decision.actor, via=decision.via)
    return True


def outcome_of(call: ToolCall, request: ApprovalRequest, decision: Decision) -> tuple[CallState, Any, str]:
    """Return what an ended request means for its call: the state, the output, and the error text."""
    why = f" {decision.comment}" if decision.comment else ""
    match (request.kind, request.status):
        case (Kind.RECOVERY, Status.ANSWERED):
            return CallState.SUCCEEDED, decision.answer, ""
        case (Kind.RECOVERY, Status.REJECTED):
            return CallState.FAILED, None, f"A person found that it failed.{why}"
        case (_, Status.CANCELLED):
            return CallState.CANCELLED, None, f"Withdrawn before it was answered.{why}"
        case (Kind.APPROVAL, _):
            return CallState.DENIED, None, decision.comment or (EXPIRED if request.status == Status.EXPIRED else "")
        case (_, Status.ANSWERED):
            return CallState.SUCCEEDED, _output(call, request, decision), ""
        case (_, Status.EXPIRED) if request.has_default:
            return CallState.SUCCEEDED, _output(call, request, decision), ""
        case (_, Status.EXPIRED):
            return CallState.FAILED, None, EXPIRED
        case _:
            return CallState.FAILED, None, decision.comment or DECLINED


def _output(call: ToolCall, request: ApprovalRequest, decision: Decision) -> Any:
    """Return the answer in the tool's output shape; unchanged if the tool is gone."""
    try:
        tool = registry.get(settings.HITL_AGENTS, call.turn.agent).tool(call.name)
    except registry.UnknownAgent:
        tool = None
    if tool is None:
        return decision.answer
    answer = Answer(
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
        logger.exception("Tool %s could not shape the answer to call %s", call.name, call.tool_call_id)
        return decision.answer
    return output
