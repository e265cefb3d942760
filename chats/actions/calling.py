"""Tool calls: marked as running before they run, and closed with their results, in time or late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import BigAutoField, Sum

from approvals import actions as desk
from approvals.actions.checking import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.states import Verdict
from chats.actions import transitions
from chats.actions.attachments import keep_files
from chats.actions.locking import Claim, LockedTurn, Recorded, claimed_turn, lock_turn
from chats.actions.resuming import resume_locked
from chats.actions.writes import (
    lock_workflow,
    notify_after_commit,
    store,
    unasked_salt,
    write_events,
)
from chats.agent import events
from chats.agent.tools import Tool
from chats.exceptions import StopRequested
from chats.models import Attachment, ToolCall
from chats.queries import Progress
from chats.queries.values import CallView
from chats.states import CallState, TurnState

#: Tools by name; None for a removed one.
Tools = Mapping[str, Tool | None]


@dataclass(frozen=True, slots=True)
class Execution:
    """A claimed run of a call. `attempt` fences its result; `executions` counts this tool's runs in the chat."""

    turn_id: int
    tool_call_id: str
    name: str
    input: Any
    attempt: int
    executions: int


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a runner's commit: its current claim, the added stream events, and the runs that begin."""

    claim: Claim
    added: Sequence[Recorded] = ()
    started: Sequence[Execution] = ()


def record_run(
    claim: Claim,
    execution: Execution,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    output: Any = None,
    error_text: str = "",
    files: Sequence[Attachment] = (),
) -> Written:
    """Store the result of a run, with the stream event about it, which is added. Raise LeaseLost.

    Nothing is added if the call no longer awaits the result of this run.

    `files` are those that the output refers to. If the chat has no room for them, store nothing and raise BadFile.
    """
    with claimed_turn(claim) as locked:
        before = locked.progress
        locked.progress = transitions.finish(
            before,
            execution.tool_call_id,
            execution.attempt,
            output=output,
            error_text=error_text,
        )
        is_awaited = locked.progress is not before
        if is_awaited:
            keep_files(locked.turn.chat, files)
            locked.progress = with_files(locked.progress, files)
        store(locked)
        result = result_event(execution.tool_call_id, output, error_text)
        added = [Recorded(next_seq, step, result)] if is_awaited else []
        write_events(locked, [*recorded, *added])
        notify_after_commit(locked.turn.chat_id)
    return Written(locked.claim(), added)


def result_event(
    tool_call_id: str, output: Any, error_text: str
) -> events.ToolSucceeded | events.ToolFailed:
    """Return the stream event that reports a result."""
    return (
        events.ToolFailed(tool_call_id, error_text)
        if error_text
        else events.ToolSucceeded(tool_call_id, output)
    )


def with_files(progress: Progress, files: Sequence[Attachment]) -> Progress:
    """Return the progress with the contents of files that a call has returned."""
    if not files:
        return progress
    return replace(
        progress,
        files={
            **progress.files,
            **{file.file_id: bytes(file.content) for file in files},
        },
    )


def time_out_run(
    claim: Claim,
    execution: Execution,
    recorded: Sequence[Recorded],
    *,
    idempotent: bool,
) -> Written:
    """Store that a run has exceeded its time limit. Raise LeaseLost."""
    with claimed_turn(claim) as locked:
        locked.progress = transitions.time_out(
            locked.progress,
            execution.tool_call_id,
            execution.attempt,
            idempotent=idempotent,
        )
        store(locked)
        write_events(locked, recorded)
        notify_after_commit(locked.turn.chat_id)
    return Written(locked.claim())


def start_calls(claim: Claim, tools: Tools, recorded: Sequence[Recorded]) -> Written:
    """Mark the ready calls of these tools as running, before they run. Raise LeaseLost or StopRequested.

    A call whose input is not the approved one fails instead.
    """
    with claimed_turn(claim) as locked:
        if locked.turn.stopped:
            raise StopRequested
        started = begin_calls(locked, tools)
        store(locked)
        write_events(locked, recorded)
    return Written(locked.claim(), started=started)


def begin_calls(locked: LockedTurn, tools: Tools) -> list[Execution]:
    """Start the ready calls of these tools of a locked turn. The caller stores the turn."""
    before = locked.progress
    unasked = [
        call
        for call in before.calls
        if call.state == CallState.READY and not call.request_id
    ]
    salts = {call.tool_call_id: unasked_salt(locked.turn, call) for call in unasked}
    locked.progress = transitions.start(before, tools, salts)
    pairs = zip(before.calls, locked.progress.calls, strict=True)
    running = [call for was, call in pairs if call.attempt > was.attempt]
    # Only a tool that takes a ToolContext learns how often it ran before in the chat.
    counted = [
        name
        for name in {call.name for call in running}
        if (tool := tools[name]) is not None and tool.context_parameter
    ]
    chat_id = locked.turn.chat_id
    earlier = _RUNS.all(chat=chat_id, names=counted) if counted else ()
    runs = Counter(dict(earlier))
    executions: list[Execution] = []
    for call in running:
        runs[call.name] += 1
        value = transitions.input_of(call)
        run = Execution(
            locked.turn.pk,
            call.tool_call_id,
            call.name,
            value,
            call.attempt,
            runs[call.name],
        )
        executions.append(run)
    return executions


#: How often tools were run in a chat.
_RUNS: Prepared[Any] = Prepared(
    lambda: (
        ToolCall.objects.filter(
            chat=Parameter("chat", BigAutoField()),
            name__in=any_of(Parameter("names", Values()), str),
        )
        .order_by()
        .values_list("name")
        .annotate(runs=Sum("attempt"))
    )
)


def finish_call(
    execution: Execution,
    *,
    output: Any = None,
    error_text: str = "",
    files: Sequence[Attachment] = (),
) -> bool:
    """Record the result of a run for any holder of its turn; return False if the call has a result, or may be running again.

    Fenced by the call's attempt, not the turn's. It settles a request about the outcome. `files` are those that the output
    refers to. If the chat has no room for them, record nothing and raise BadFile.
    """
    with transaction.atomic():
        locked = lock_turn(execution.turn_id)
        call = (
            locked.progress.call(execution.tool_call_id) if locked is not None else None
        )
        if (
            locked is None
            or call is None
            or call.attempt != execution.attempt
            or not _awaits_result(call, locked)
        ):
            return False
        is_late = call.state != CallState.EXECUTING
        if is_late:
            lock_workflow(locked.turn)
        keep_files(locked.turn.chat, files)
        state = CallState.FAILED if error_text else CallState.SUCCEEDED
        closed = transitions.close(
            locked.progress,
            call.tool_call_id,
            state,
            output=output,
            error_text=error_text,
        )
        locked.progress = with_files(closed, files)
        store(locked)
        if is_late:
            if call.recovery_id:
                desk.settle(UUID(call.recovery_id), _answer(output, error_text))
            resume_locked(locked)
        notify_after_commit(locked.turn.chat_id)
    return True


def _awaits_result(call: CallView, locked: LockedTurn) -> bool:
    """Return whether the result of the last run of a call can still be recorded."""
    if call.state == CallState.READY:
        # It is to run again, and a runner that has the turn may start it at any moment.
        return locked.turn.state in {TurnState.SUSPENDED, TurnState.QUEUED}
    return call.state in {CallState.EXECUTING, CallState.UNKNOWN}


def _answer(output: Any, error_text: str) -> Answer:
    """Return the answer that a late result gives to the request about the outcome."""
    if error_text:
        return Answer(
            Verdict.REJECT,
            f"The tool's own result arrived late: {error_text}"[:MAX_COMMENT],
        )
    return Answer(Verdict.RESPOND, "The tool's own result arrived late.", answer=output)
