"""A runner's commits while its turn continues: stream events, results, a model's answer as a step, and a pause."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from approvals.db import transactions
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import after_commit, async_commit
from chats import queries
from chats.actions import transitions
from chats.actions.asking import AskedRequests, ask_people, has_asked_nothing
from chats.actions.calling import Written, begin_calls
from chats.actions.locking import Claim, LockedTurn, Recorded, claimed_turn
from chats.actions.writes import (
    enqueue_event,
    lock_workflow,
    new_checkpoint,
    notify_after_commit,
    number_events,
    rest,
    store,
    write_events,
)
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.loop import PlannedCall
from chats.agent.provider import ProviderError
from chats.exceptions import StopRequested
from chats.queries import projection, subagents
from chats.queries.values import StepView
from chats.states import CheckpointKind, FinishReason, TurnState


@dataclass(frozen=True, slots=True)
class NewStep:
    """A model's answer with its calls, to be stored as step `index`."""

    index: int
    finished: events.ModelFinished
    planned: Sequence[PlannedCall]
    provider: str


@dataclass(frozen=True, slots=True)
class UnfinishedAnswer:
    """The part of a model's answer that had arrived when its turn ended: the texts that people have read, and its usage.

    `calls` are the toolCallIds that were streamed.
    """

    texts: Sequence[str] = ()
    metered: events.AnswerMetered | None = None
    provider: str = ""
    calls: Sequence[str] = ()


NOTHING_LEFT = UnfinishedAnswer()


def store_progress(claim: Claim, recorded: Sequence[Recorded]) -> Written:
    """Store stream events and pending transitions between two other commits. Raise LeaseLost."""
    changes = claim.known is not None and bool(claim.known.pending)
    with claimed_turn(claim, changes=changes) as locked:
        if not changes:
            # Events lost in a crash of the database are written again, by the step's commit at the latest. If their runner
            # crashes too, the model is asked again.
            async_commit()
        else:
            store(locked)
            notify_after_commit(locked.turn.chat_id)
        write_events(locked, recorded)
    return Written(locked.claim())


def commit_step(
    claim: Claim,
    index: int,
    finished: events.ModelFinished,
    planned: Sequence[PlannedCall],
    recorded: Sequence[Recorded],
    *,
    provider: str,
) -> Written:
    """Store a model's answer with its calls, before any tool runs. Raise LeaseLost, StopRequested or ProviderError.

    The calls of idempotent tools, which may run again after a crash, are started here.
    """
    with claimed_turn(claim) as locked:
        if locked.turn.stopped:
            raise StopRequested
        add_step(locked, NewStep(index, finished, planned, provider))
        repeatable = {
            call.name: call.tool
            for call in planned
            if call.tool is not None and call.tool.idempotent
        }
        started = begin_calls(locked, repeatable)
        store(locked)
        write_events(locked, recorded)
        notify_after_commit(locked.turn.chat_id)
    return Written(locked.claim(), started=started)


def add_step(locked: LockedTurn, new: NewStep) -> None:
    """Add a model's answer to a locked turn; the caller stores it. Raise ProviderError for a reused toolCallId."""
    if new.planned:
        _check_ids(locked, {call.tool_call_id for call in new.planned})
    step = transitions.step_of(new.finished, new.planned, new.provider)
    locked.progress = transitions.add_step(locked.progress, step)


def _check_ids(locked: LockedTurn, ids: Collection[str]) -> None:
    """Raise ProviderError for reused toolCallIds."""
    turn = locked.turn
    progress = locked.progress
    if turn.root_id is not None:
        # Without the lock, two sub-agents could both find the same id unused.
        transactions.lock_name(f"calls of {turn.top.run_id}")
    # Requests and the audit log name calls by the top chat, so ids are unique in it and all chats below.
    used = (
        not progress.call_ids.isdisjoint(ids)
        if progress.alone
        else subagents.is_any_id_used(turn, ids)
    )
    if used:
        raise ProviderError(
            _(
                "The model used the id of an earlier tool call again, so its answer cannot be used. "
                "Send your message again."
            )
        )


def pause_turn(
    claim: Claim,
    agent: Agent,
    step: int,
    recorded: Sequence[Recorded],
    next_seq: int,
    *,
    new: NewStep | None = None,
) -> Written:
    """Ask people about every waiting call: requests, checkpoint and suspension in one commit. Raise LeaseLost or StopRequested.

    `new` is a step to store in the same commit: a step without a call to run needs no commit of its own, which would only cost
    another disk flush. The last added event is `TurnPaused`, unless the turn continues because nothing could be asked, grants or
    rules have decided all calls, or a sub-agent has moved in the meantime.
    """
    with claimed_turn(claim) as locked:
        turn = locked.turn
        if turn.stopped:
            raise StopRequested
        if locked.progress is not locked.stored:
            # Held-back results are recorded before the requests, and after the workflow is locked.
            if not has_asked_nothing(locked, agent):
                lock_workflow(turn)
            store(locked)
        if new is not None:
            add_step(locked, new)
        outcome = ask_people(locked, agent)
        closing = list(outcome.events)
        resting = locked.at_rest()
        if resting:
            suspend(locked, outcome)
            closing += [events.StepEnded(step), events.TurnPaused()]
        else:
            store(locked, outcome.signed)
        added = number_events(next_seq, step, closing)
        write_events(locked, [*recorded, *added])
        if resting:
            after_commit(queries.remember, turn, locked.progress, added[-1].seq)
    return Written(locked.claim(), added)


def suspend(locked: LockedTurn, outcome: AskedRequests) -> None:
    """Store a locked turn as suspended, with a checkpoint and an event, after people were asked about its calls."""
    turn = locked.turn
    turn.state = TurnState.SUSPENDED
    turn.finish_reason = FinishReason.TOOL_CALLS
    turn.lease_until = None
    turn.usage = locked.progress.usage
    parts = projection.message_parts(locked.progress.steps)
    write, checkpoint = new_checkpoint(
        turn,
        parts,
        CheckpointKind.PARTIAL,
        FinishReason.TOOL_CALLS,
        steps=locked.progress.steps,
        is_first=locked.never_paused,
        last=locked.progress.checkpoint,
    )
    store(locked, outcome.signed, also=[rest(turn), write])
    locked.progress = replace(locked.progress, checkpoint=checkpoint)
    enqueue_event(
        "turn.suspended",
        locked,
        {"requests": [str(request.pk) for request in outcome.requests]},
    )
    notify_after_commit(turn.chat_id)


def keep_answer(locked: LockedTurn, left: UnfinishedAnswer, stop_reason: str) -> bool:
    """Add an unfinished answer as a step; return whether people have read texts of it. The caller stores it."""
    blocks = [
        {"type": "text", "text": clean_text(text)}
        for text in left.texts
        if text.strip()
    ]
    metered = left.metered
    if blocks or metered is not None:
        step = StepView(blocks, provider=left.provider, stop_reason=stop_reason)
        if metered is not None:
            step = replace(
                step,
                model=metered.model,
                usage=metered.usage,
                answered_by=metered.answered_by,
            )
        locked.progress = transitions.add_step(locked.progress, step)
    return bool(blocks)
