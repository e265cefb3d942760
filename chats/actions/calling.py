"""Tool calls: claimed before they run, recorded afterwards, and never run twice without a trace."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from approvals import actions as desk
from approvals.actions.rulings import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.runtime.canonical import digest
from approvals.states import Status, Verdict
from chats import queries
from chats.actions.resuming import resume_locked
from chats.actions.writes import (
    RUNNER,
    Claim,
    close_call,
    lock_claimed_turn,
    lock_workflow,
    notify_after_commit,
    refresh_message,
)
from chats.models import ToolCall, Turn
from chats.states import CallState

#: How often a call is started before a person is asked, or it fails.
MAX_RUNS = 3


@dataclass(frozen=True, slots=True)
class Execution:
    """A claimed run of a call. `attempt` fences its result; `executions` counts this tool's runs in the chat."""

    call_pk: int
    tool_call_id: str
    name: str
    input: Any
    attempt: int
    executions: int


def claim_call(claim: Claim, call_pk: int) -> Execution | None:
    """Mark a call as running and return the run; None if the call is not ready. LeaseLost.

    A call whose input is not the approved one fails instead.
    """
    with transaction.atomic():
        turn, _ = lock_claimed_turn(claim)
        call = turn.tool_calls.select_related("approval__decision").get(pk=call_pk)
        if call.state != CallState.READY or turn.stopped:
            return None
        decision = queries.decision_of(call.approval)
        edited = decision.edited_input if decision is not None else None
        value = call.input if edited is None else edited
        if call.approval is not None and (decision is None or decision.approved_digest != digest(value)):
            call.state = CallState.EXECUTING
            close_call(
                call,
                CallState.FAILED,
                error_text="The input is not the one that was approved, so it was not run.",
                via=RUNNER,
            )
            return None
        ToolCall.objects.filter(pk=call.pk).update(
            state=CallState.EXECUTING,
            attempt=F("attempt") + 1,
            started_at=timezone.now(),
            executed_digest=digest(value),
        )
        runs = ToolCall.objects.filter(chat=call.chat_id, name=call.name).aggregate(runs=Sum("attempt"))["runs"]
    return Execution(call.pk, call.tool_call_id, call.name, value, call.attempt + 1, runs)


def finish_call(execution: Execution, *, output: Any = None, error_text: str = "") -> bool:
    """Record the result of a run; return False if the call has a result, or another run has begun.

    Fenced by the call's attempt and not by the turn's: a late result is still true.
    """
    with transaction.atomic():
        call = _lock_call(execution)
        stands = call.attempt == execution.attempt and call.state in {CallState.EXECUTING, CallState.UNKNOWN}
        if not stands:
            return False
        was_unknown = call.state == CallState.UNKNOWN
        if was_unknown:
            lock_workflow(call.turn)
        close_call(
            call,
            CallState.FAILED if error_text else CallState.SUCCEEDED,
            output=output,
            error_text=error_text,
            via=RUNNER,
        )
        if was_unknown:
            _close_recovery(call)
            resume_locked(call.turn)
        refresh_message(call.turn)
        notify_after_commit(call.chat_id)
    return True


def _lock_call(execution: Execution) -> ToolCall:
    """Lock the turn of a run; return the call."""
    turn_id = ToolCall.objects.values_list("turn", flat=True).get(pk=execution.call_pk)
    turn = Turn.objects.select_for_update(of=("self",), no_key=True).select_related("chat__owner").get(pk=turn_id)
    call = ToolCall.objects.select_related("recovery").get(pk=execution.call_pk)
    call.turn = turn
    return call


def _close_recovery(call: ToolCall) -> None:
    """Settle the pending request about the outcome of a call, which is known now."""
    if call.recovery is None or call.recovery.status != Status.PENDING:
        return
    if call.state == CallState.FAILED:
        comment = f"The tool's own result arrived late: {call.error_text}"[:MAX_COMMENT]
        desk.settle(call.recovery.pk, Answer(Verdict.REJECT, comment))
        return
    desk.settle(call.recovery.pk, Answer(Verdict.RESPOND, "The tool's own result arrived late.", answer=call.output))


def time_out_call(execution: Execution, *, idempotent: bool) -> None:
    """Handle a run that exceeded its time limit.

    An idempotent tool runs again, MAX_RUNS times in all, and then fails. The outcome of any other is unknown until a person
    enters it or a late result arrives.
    """
    with transaction.atomic():
        call = _lock_call(execution)
        if call.attempt != execution.attempt or call.state != CallState.EXECUTING:
            return
        if idempotent and call.attempt >= MAX_RUNS:
            error = f"{call.name} did not end within its time limit, in {MAX_RUNS} tries."
            close_call(call, CallState.FAILED, error_text=error, via=RUNNER)
            refresh_message(call.turn)
            notify_after_commit(call.chat_id)
            return
        call.state = CallState.READY if idempotent else CallState.UNKNOWN
        call.save(update_fields=["state"])


def recover_calls(turn: Turn, idempotent: Collection[str]) -> None:
    """Handle the calls that the previous runner left running: idempotent tools run again, other outcomes are unknown.

    A call that was started MAX_RUNS times may itself crash the server, so a person is asked. The caller has claimed the turn
    in the same transaction.
    """
    orphans = turn.tool_calls.filter(state=CallState.EXECUTING)
    orphans.filter(name__in=idempotent, attempt__lt=MAX_RUNS).update(state=CallState.READY)
    orphans.update(state=CallState.UNKNOWN)
