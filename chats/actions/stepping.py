"""What a runner commits while its turn goes on: stream events, a model's answer as a step, and a pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.runtime import transactions
from approvals.runtime.canonical import clean_json, clean_text
from approvals.runtime.transactions import async_commit
from chats.actions.asking import ask_people
from chats.actions.calling import Execution, start_calls
from chats.actions.writes import (
    RUNNER,
    Claim,
    Recorded,
    add_message,
    claimed_turn,
    enqueue_event,
    notify_after_commit,
    parts_of,
    record_result,
    write_checkpoint,
    write_events,
)
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.loop import PlannedCall
from chats.agent.provider import ProviderError
from chats.exceptions import StopRequested
from chats.models import Step, ToolCall, Turn
from chats.queries import subagents
from chats.states import CallState, CheckpointKind, FinishReason, TurnState

CUT_OFF = "The model's answer was cut off in this call, so it was not run."


@dataclass(frozen=True, slots=True)
class NewStep:
    """A model's answer with its calls, to be stored as step `index`."""

    index: int
    finished: events.ModelFinished
    planned: Sequence[PlannedCall]
    provider: str


@dataclass(frozen=True, slots=True)
class UnfinishedAnswer:
    """What there is of an answer when its turn ends: the texts that people have read, and what is known of it otherwise.

    `calls` are the toolCallIds that were streamed.
    """

    texts: Sequence[str] = ()
    metered: events.AnswerMetered | None = None
    provider: str = ""
    calls: Sequence[str] = ()


NOTHING_LEFT = UnfinishedAnswer()


def append_events(claim: Claim, recorded: Sequence[Recorded]) -> None:
    """Store stream events between two commits, for followers in other processes. LeaseLost."""
    with claimed_turn(claim) as (turn, last_seq):
        # Events lost in a crash of the database are written again, by the step's commit at the latest. If their runner
        # crashes too, the model is asked again.
        async_commit()
        write_events(turn, last_seq, recorded)


def commit_step(
    claim: Claim,
    index: int,
    finished: events.ModelFinished,
    planned: Sequence[PlannedCall],
    recorded: Sequence[Recorded],
    *,
    provider: str,
) -> list[Execution]:
    """Store a model's answer with its calls, before any tool runs. LeaseLost, StopRequested, ProviderError.

    A runner that knows its progress also claims the calls of idempotent tools here, which may run again after a crash;
    returns these.
    """
    with claimed_turn(claim) as (turn, last_seq):
        if turn.stopped:
            raise StopRequested
        calls = store_step(claim, turn, NewStep(index, finished, planned, provider))
        if turn.usage:
            turn.save(update_fields=["usage"])
        write_events(turn, last_seq, recorded)
        started: list[Execution] = []
        if claim.known is not None:
            repeatable = {one.tool_call_id for one in planned if one.tool is not None and one.tool.idempotent}
            started = start_calls(claim, turn, [call for call in calls if call.tool_call_id in repeatable])
        notify_after_commit(turn.chat_id)
    return started


def store_step(claim: Claim, turn: Turn, new: NewStep) -> list[ToolCall]:
    """Store a step of a turn that the caller has locked, and add its usage to the turn, which the caller saves."""
    if new.planned:
        _check_ids(turn, [call.tool_call_id for call in new.planned])
    finished = new.finished
    step = Step.objects.create(
        turn=turn,
        index=new.index,
        blocks=clean_json(finished.blocks),
        provider=new.provider,
        model=finished.model,
        stop_reason=finished.stop_reason,
        stop_details=clean_json(finished.stop_details),
        prefix=finished.prefix,
        usage=finished.usage,
        answered_by=finished.answered_by,
    )
    if new.index == 0:
        add_message(turn.chat, turn.message_id, "assistant", [])
    cut_off = finished.stop_reason != "tool_use"
    calls = [_new_call(turn, step, call, cut_off=cut_off) for call in new.planned]
    if calls:
        ToolCall.objects.bulk_create(calls)
    for call in calls:
        if call.state == CallState.FAILED:
            record_result(call, actor=None, via=RUNNER)
    add_usage(turn, finished.usage)
    if claim.known is not None and claim.known.progress is not None:
        claim.known.progress.steps.append((step, calls))
    return calls


def add_usage(turn: Turn, usage: Mapping[str, int]) -> None:
    """Add what an answer has used to its turn, which the caller saves."""
    for name, amount in usage.items():
        turn.usage[name] = turn.usage.get(name, 0) + amount


def _check_ids(turn: Turn, ids: Sequence[str]) -> None:
    """Refuse toolCallIds that were used before. ProviderError."""
    if turn.root_id is not None:
        # Without the lock, two sub-agents could both find the same id unused.
        transactions.lock_name(f"calls of {turn.top.run_id}")
    # Requests and the audit log name calls by the top chat, so ids are unique in it and all chats below.
    if subagents.calls_of_family(turn).filter(tool_call_id__in=ids).exists():
        raise ProviderError(
            _(
                "The model used the id of an earlier tool call again, so its answer cannot be used. "
                "Send your message again."
            )
        )


def _new_call(turn: Turn, step: Step, planned: PlannedCall, *, cut_off: bool) -> ToolCall:
    error = CUT_OFF if cut_off else planned.error_text
    state = CallState.WAITING if planned.needs_person else CallState.READY
    return ToolCall(
        chat_id=turn.chat_id,
        turn=turn,
        step=step,
        tool_call_id=planned.tool_call_id,
        name=planned.name,
        input=clean_json(planned.input),
        state=CallState.FAILED if error else state,
        error_text=error,
        finished_at=timezone.now() if error else None,
    )


def pause_turn(
    claim: Claim,
    agent: Agent,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    new: NewStep | None = None,
) -> list[Recorded]:
    """Ask people about every waiting call: requests, checkpoint and suspension in one commit. LeaseLost, StopRequested.

    `new` is a step to store in the same commit: a step without a call to run needs none of its own, which would only cost
    another disk flush. Returns the stored stream events. The last is `TurnPaused`, unless the turn goes on because nothing
    could be asked or a sub-agent has moved in the meantime.
    """
    with claimed_turn(claim) as (turn, last_seq):
        if turn.stopped:
            raise StopRequested
        if new is not None:
            store_step(claim, turn, new)
        progress = claim.progress()
        asked, closing = ask_people(turn, agent, progress=progress, never_asked=claim.never_paused)
        resting = subagents.at_rest(turn, None if progress is None else progress.calls)
        if resting:
            closing += [events.StepEnded(step), events.TurnPaused()]
        last = [Recorded(next_seq + offset, step, event) for offset, event in enumerate(closing)]
        write_events(turn, last_seq, [*recorded, *last])
        if not resting:
            turn.save(update_fields=["usage"])
            claim.forget()
            return last
        turn.state, turn.finish_reason, turn.lease_until = TurnState.SUSPENDED, FinishReason.TOOL_CALLS, None
        turn.save(update_fields=["state", "finish_reason", "lease_until", "usage"])
        write_checkpoint(
            turn, parts_of(turn, progress), CheckpointKind.PARTIAL, FinishReason.TOOL_CALLS, first=claim.never_paused
        )
        enqueue_event("turn.suspended", turn, {"requests": [str(request.pk) for request in asked]})
        notify_after_commit(turn.chat_id)
    return last


def keep_answer(turn: Turn, left: UnfinishedAnswer, stop_reason: str) -> bool:
    """Store what there is of an answer that was not finished as a step; return whether people have read texts of it."""
    blocks = [{"type": "text", "text": clean_text(text)} for text in left.texts if text.strip()]
    metered = left.metered
    if blocks or metered is not None:
        step = Step(turn=turn, index=turn.steps.count(), blocks=blocks, provider=left.provider, stop_reason=stop_reason)
        if metered is not None:
            step.model, step.usage, step.answered_by = metered.model, metered.usage, metered.answered_by
            add_usage(turn, metered.usage)
        step.save(force_insert=True)
    return bool(blocks)
