"""Tool calls: claimed before they run, recorded afterwards, and never run twice without a trace."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from approvals import actions as desk
from approvals.actions.rulings import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.runtime.canonical import digest
from approvals.states import Status, Verdict
from chats import queries
from chats.actions.attachments import keep_files
from chats.actions.resuming import resume_locked
from chats.actions.writes import (
    RUNNER,
    Claim,
    claimed_turn,
    close_call,
    lock_workflow,
    notify_after_commit,
)
from chats.exceptions import LeaseLost
from chats.models import Attachment, ToolCall, Turn
from chats.queries import Progress
from chats.states import CallState, TurnState

#: How often a call is started before a person is asked, or it fails.
MAX_RUNS = 3


@dataclass(frozen=True, slots=True)
class Execution:
    """A claimed run of a call. `attempt` fences its result; `executions` counts this tool's runs in the chat.

    `claim` is that of the runner that started it.
    """

    call_pk: int
    tool_call_id: str
    name: str
    input: Any
    attempt: int
    executions: int
    claim: Claim | None = field(default=None, compare=False, repr=False)


def claim_call(claim: Claim, call_pk: int) -> Execution | None:
    """Mark a call as running and return the run; None if the call is not ready. LeaseLost.

    A call whose input is not the approved one fails instead.
    """
    with claimed_turn(claim) as (turn, _):
        progress = claim.progress()
        if progress is not None:
            call = _call_in(progress, call_pk)
        else:
            call = turn.tool_calls.select_related("approval__decision").get(pk=call_pk)
        if call is None or turn.stopped:
            return None
        return next(iter(start_calls(claim, turn, [call])), None)


def _call_in(progress: Progress, call_pk: int) -> ToolCall | None:
    return next((call for call in progress.calls if call.pk == call_pk), None)


def start_calls(claim: Claim, turn: Turn, calls: Sequence[ToolCall]) -> list[Execution]:
    """Mark those of these calls of a locked turn that are ready as running; return their runs.

    A call whose input is not the approved one fails instead.
    """
    started: list[tuple[ToolCall, Any]] = []
    for call in calls:
        if call.state != CallState.READY:
            continue
        decision = queries.decision_of(call.approval)
        edited = decision.edited_input if decision is not None else None
        value = call.input if edited is None else edited
        call.state = CallState.EXECUTING
        if call.approval is not None and (decision is None or decision.approved_digest != digest(value)):
            error = "The input is not the one that was approved, so it was not run."
            close_call(call, CallState.FAILED, error_text=error, via=RUNNER)
            continue
        call.attempt, call.started_at, call.executed_digest = call.attempt + 1, timezone.now(), digest(value)
        call.save(update_fields=["state", "attempt", "started_at", "executed_digest"])
        started.append((call, value))
        if claim.known is not None:
            claim.known.unstarted[call.pk] = call.attempt
    runs = _runs(turn, {call.name for call, _ in started})
    return [
        Execution(call.pk, call.tool_call_id, call.name, value, call.attempt, runs[call.name], claim)
        for call, value in started
    ]


def begin_call(execution: Execution) -> None:
    """Note that the tool begins now: from here on only it can tell the outcome of the call. Writes nothing."""
    if execution.claim is not None and execution.claim.known is not None:
        execution.claim.known.unstarted.pop(execution.call_pk, None)


def give_back_calls(claim: Claim) -> None:
    """Make calls ready again whose tools this runner, which has locked its turn, has not begun: they never ran."""
    if claim.known is None:
        return
    for call_pk, attempt in claim.known.unstarted.items():
        running = ToolCall.objects.filter(pk=call_pk, attempt=attempt, state=CallState.EXECUTING)
        running.update(state=CallState.READY, attempt=attempt - 1, started_at=None, executed_digest="")
    claim.forget()


def _runs(turn: Turn, names: set[str]) -> dict[str, int]:
    """Return how often these tools were run in the turn's chat."""
    if not names:
        return {}
    calls = ToolCall.objects.filter(chat=turn.chat_id, name__in=names).order_by()
    return dict(calls.values_list("name").annotate(runs=Sum("attempt")))


def finish_call(
    execution: Execution, *, output: Any = None, error_text: str = "", files: Sequence[Attachment] = ()
) -> bool:
    """Record the result of a run; return False if the call has a result, or another run has begun or may begin.

    Fenced by the call's attempt and not by the turn's: a late result is still true. `files` are those that the output
    refers to. BadFile, and nothing is recorded, if the chat has no room for them.
    """
    try:
        if _finish_own_call(execution, output, error_text, files):
            return True
    except LeaseLost:
        pass
    return _finish_any_call(execution, output, error_text, files)


def _finish_own_call(execution: Execution, output: Any, error_text: str, files: Sequence[Attachment]) -> bool:
    """Record the result for the runner that still has the turn; return False if the rows have to be read. LeaseLost."""
    claim = execution.claim
    if claim is None or claim.progress() is None:
        return False
    with claimed_turn(claim) as (turn, _):
        progress = claim.progress()
        call = _call_in(progress, execution.call_pk) if progress is not None else None
        if progress is None or call is None or (call.state, call.attempt) != (CallState.EXECUTING, execution.attempt):
            return False
        state = CallState.FAILED if error_text else CallState.SUCCEEDED
        keep_files(turn.chat, files)
        progress.files.update((file.file_id, bytes(file.content)) for file in files)
        close_call(call, state, output=output, error_text=error_text, via=RUNNER)
        notify_after_commit(turn.chat_id)
    return True


def _finish_any_call(execution: Execution, output: Any, error_text: str, files: Sequence[Attachment]) -> bool:
    if execution.claim is not None:
        execution.claim.forget()
    with transaction.atomic():
        call = _lock_call(execution)
        if call.attempt != execution.attempt or not _awaits_result(call):
            return False
        is_late = call.state != CallState.EXECUTING
        if is_late:
            lock_workflow(call.turn)
        keep_files(call.turn.chat, files)
        close_call(
            call,
            CallState.FAILED if error_text else CallState.SUCCEEDED,
            output=output,
            error_text=error_text,
            via=RUNNER,
        )
        if is_late:
            _close_recovery(call)
            resume_locked(call.turn)
        notify_after_commit(call.chat_id)
    return True


def _awaits_result(call: ToolCall) -> bool:
    """Return whether the result of the last run of a call, whose turn is locked, can still be recorded."""
    if call.state == CallState.READY:
        # It is to run again. A runner that has the turn may start it at any moment, because it goes by its own copy.
        return call.turn.state in {TurnState.SUSPENDED, TurnState.QUEUED}
    return call.state in {CallState.EXECUTING, CallState.UNKNOWN}


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
    if execution.claim is not None:
        execution.claim.forget()
    with transaction.atomic():
        call = _lock_call(execution)
        if call.attempt != execution.attempt or call.state != CallState.EXECUTING:
            return
        if idempotent and call.attempt >= MAX_RUNS:
            error = f"{call.name} did not end within its time limit, in {MAX_RUNS} tries."
            close_call(call, CallState.FAILED, error_text=error, via=RUNNER)
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
    if orphans.exists():
        orphans.filter(name__in=idempotent, attempt__lt=MAX_RUNS).update(state=CallState.READY)
        orphans.update(state=CallState.UNKNOWN)
