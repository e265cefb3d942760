"""What decisions do to a turn: its waiting calls take their outcome, and it is queued again when none is left."""

from __future__ import annotations

import functools
import logging
from typing import Any

from django.conf import settings
from django.db import transaction

from approvals.models import ApprovalRequest, Decision
from approvals.runtime import async_commit
from approvals.runtime.canonical import canonical
from approvals.states import Kind, Status
from chats import queries
from chats.actions.writes import close_call, queue_turn, refresh_message, ring_all_after_commit
from chats.agent import registry
from chats.agent.tools import Answer
from chats.models import ToolCall, Turn
from chats.queries import subagents
from chats.states import CallState, TurnState

logger = logging.getLogger(__name__)

NOBODY = "Nobody answered before the deadline."
DECLINED = "Declined without a word."


def resume_turn(turn_id: int, *, waits: bool = True) -> bool:
    """Take over what was decided since the pause; True if the turn goes on now. Safe to repeat, from anywhere.

    Without `waits`, a turn that somebody else has locked is left to them.
    """
    if not Turn.objects.filter(pk=turn_id, state=TurnState.SUSPENDED).exists():
        # Looked at without a lock first: a lock alone makes a commit that waits for the disk.
        return False
    with transaction.atomic():
        unlocked = Turn.objects.select_for_update(of=("self",), no_key=True, skip_locked=not waits)
        turn = unlocked.select_related("chat__owner").filter(pk=turn_id).first()
        if turn is None or turn.state != TurnState.SUSPENDED:
            return False
        if not _settle_calls(turn):
            # Lost with the power, the turn is suspended with nothing open, and the sweep resumes it: the decision is what
            # counts, and that is stored. Where a result was written, it has to be there for good.
            async_commit.found_again()
        resumed = resume_locked(turn)
        refresh_message(turn)
        ring_all_after_commit(turn)
    return resumed


def resume_locked(turn: Turn) -> bool:
    """Queue a suspended turn, whose lock the caller holds, if none of its calls waits for a person, or a sub-agent moves."""
    if turn.state != TurnState.SUSPENDED or subagents.at_rest(turn):
        return False
    turn.state, turn.finish_reason = TurnState.QUEUED, ""
    turn.save(update_fields=["state", "finish_reason"])
    queue_turn(turn.pk)
    wake_above(turn)
    return True


def wake_above(turn: Turn) -> None:
    """After the commit, let the turn that waits for this one look again; the sweep does it where that gets lost."""
    if turn.parent_call is not None:
        transaction.on_commit(functools.partial(resume_turn, turn.parent_call.turn_id), robust=True)


def _settle_calls(turn: Turn) -> bool:
    """Give every call of a suspended turn whose request has ended its outcome; whether a result was written by it."""
    written = False
    waiting = turn.tool_calls.filter(state__in=[CallState.WAITING, CallState.UNKNOWN])
    for call in waiting.select_related("approval__decision", "recovery__decision").order_by("id"):
        request = call.recovery if call.state == CallState.UNKNOWN else call.approval
        decision = queries.decision_of(request)
        if request is not None and decision is not None:
            call.turn = turn
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
    """What a request's end means for its call: the state, the output, and the words in place of an output."""
    why = f" {decision.comment}" if decision.comment else ""
    match (request.kind, request.status):
        case (Kind.RECOVERY, Status.ANSWERED):
            return CallState.SUCCEEDED, decision.answer, ""
        case (Kind.RECOVERY, Status.REJECTED):
            return CallState.FAILED, None, f"A person found that it failed.{why}"
        case (_, Status.CANCELLED):
            return CallState.CANCELLED, None, f"Withdrawn before it was answered.{why}"
        case (Kind.APPROVAL, _):
            return CallState.DENIED, None, decision.comment or (NOBODY if request.status == Status.EXPIRED else "")
        case (_, Status.ANSWERED):
            return CallState.SUCCEEDED, _output(call, request, decision), ""
        case (_, Status.EXPIRED) if request.has_default:
            return CallState.SUCCEEDED, _output(call, request, decision), ""
        case (_, Status.EXPIRED):
            return CallState.FAILED, None, NOBODY
        case _:
            return CallState.FAILED, None, decision.comment or DECLINED


def _output(call: ToolCall, request: ApprovalRequest, decision: Decision) -> Any:
    """The answer in the tool's own output shape; as it is where the tool is gone by now."""
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
        # The tool's own code: what the person said must reach the model all the same.
        logger.exception("Tool %s could not shape the answer to call %s", call.name, call.tool_call_id)
        return decision.answer
    return output
