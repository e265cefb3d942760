"""What a runner commits while its turn goes on: stream events, a model's answer as a step, and a pause."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.runtime import locks
from approvals.runtime.async_commit import async_commit
from approvals.runtime.canonical import clean_json
from chats.actions.asking import ask_people
from chats.actions.writes import (
    RUNNER,
    Claim,
    Recorded,
    enqueue_event,
    lock_claimed_turn,
    notify_after_commit,
    record_result,
    refresh_message,
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


def append_events(claim: Claim, recorded: Sequence[Recorded]) -> None:
    """Store stream events between two commits, for followers in other processes. LeaseLost."""
    with transaction.atomic():
        # Events lost in a crash of the database are written again, by the step's commit at the latest. If their runner
        # crashes too, the model is asked again.
        async_commit()
        turn, last_seq = lock_claimed_turn(claim)
        write_events(turn, last_seq, recorded)


def commit_step(
    claim: Claim,
    index: int,
    finished: events.ModelFinished,
    planned: Sequence[PlannedCall],
    recorded: Sequence[Recorded],
    *,
    provider: str,
) -> None:
    """Store a model's answer with its calls, before any tool runs. LeaseLost, StopRequested, ProviderError."""
    with transaction.atomic():
        turn, last_seq = lock_claimed_turn(claim)
        if turn.stopped:
            raise StopRequested
        ids = [call.tool_call_id for call in planned]
        if turn.root_id is not None:
            # Without the lock, two sub-agents could both find the same id unused.
            locks.lock_name(f"calls of {turn.top.run_id}")
        # Requests and the audit log name calls by the top chat, so ids are unique in it and all chats below.
        top = turn.chat.root_id or turn.chat_id
        if ToolCall.objects.filter(Q(chat=top) | Q(chat__root=top), tool_call_id__in=ids).exists():
            raise ProviderError(
                _(
                    "The model used the id of an earlier tool call again, so its answer cannot be used. "
                    "Send your message again."
                )
            )
        step = Step.objects.create(
            turn=turn,
            index=index,
            blocks=clean_json(finished.blocks),
            provider=provider,
            model=finished.model,
            stop_reason=finished.stop_reason,
            usage=finished.usage,
        )
        for call in planned:
            _store_call(turn, step, call, cut_off=finished.stop_reason != "tool_use")
        for name, amount in finished.usage.items():
            turn.usage[name] = turn.usage.get(name, 0) + amount
        turn.save(update_fields=["usage"])
        write_events(turn, last_seq, recorded)
        refresh_message(turn)
        notify_after_commit(turn.chat_id)


def _store_call(turn: Turn, step: Step, planned: PlannedCall, *, cut_off: bool) -> None:
    error = CUT_OFF if cut_off else planned.error_text
    state = CallState.WAITING if planned.needs_person else CallState.READY
    call = ToolCall.objects.create(
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
    if error:
        record_result(call, actor=None, via=RUNNER)


def in_one_commit(step: Callable[[], None], rest: Callable[[], Sequence[Recorded]]) -> Sequence[Recorded]:
    """Store a step and the pause or end (`rest`) that directly follows it; return what `rest` returns.

    A step without a call to run needs no commit of its own, which would only cost another disk flush. If either function
    raises, nothing is stored.
    """
    with transaction.atomic():
        step()
        return rest()


def pause_turn(claim: Claim, agent: Agent, step: int, recorded: Sequence[Recorded], next_seq: int) -> list[Recorded]:
    """Ask people about every waiting call: requests, checkpoint and suspension in one commit. LeaseLost, StopRequested.

    Returns the stored stream events. The last is `TurnPaused`, unless the turn goes on because nothing could be asked or a
    sub-agent has moved in the meantime.
    """
    with transaction.atomic():
        turn, last_seq = lock_claimed_turn(claim)
        if turn.stopped:
            raise StopRequested
        asked, closing = ask_people(turn, agent)
        resting = subagents.at_rest(turn)
        if resting:
            closing += [events.StepEnded(step), events.TurnPaused()]
        last = [Recorded(next_seq + offset, step, event) for offset, event in enumerate(closing)]
        write_events(turn, last_seq, [*recorded, *last])
        if not resting:
            return last
        turn.state, turn.finish_reason, turn.lease_until = TurnState.SUSPENDED, FinishReason.TOOL_CALLS, None
        turn.save(update_fields=["state", "finish_reason", "lease_until"])
        write_checkpoint(turn, refresh_message(turn), CheckpointKind.PARTIAL, FinishReason.TOOL_CALLS)
        enqueue_event("turn.suspended", turn, {"requests": [str(request.pk) for request in asked]})
        notify_after_commit(turn.chat_id)
    return last
