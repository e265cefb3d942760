"""Runners' claims of turns: a lease that its holder renews, and a fencing number that makes late writers harmless."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from approvals.db.prepared import Prepared
from approvals.db.prepared_writes import Write, write_together
from approvals.db.transactions import after_commit, async_commit, in_line
from approvals.text.secrets import mask_text
from chats import doorbell
from chats.actions import rows, transitions
from chats.actions.calling import Execution, begin_calls
from chats.actions.locking import (
    LEASE,
    Claim,
    LockedTurn,
    RunnerState,
    claimed_turn,
    lease_end,
    locked_turn,
    turns_to_read,
)
from chats.actions.resuming import resume_parent, resume_turn, settle_requests
from chats.actions.writes import (
    Signed,
    notify_after_commit,
    notify_all_after_commit,
    queue_turn,
    store,
)
from chats.agent import events, registry
from chats.agent.agent import Agent
from chats.agent.tools import Tool
from chats.exceptions import LeaseLost
from chats.models import Chat, Turn
from chats.queries import Progress, history_before
from chats.states import TurnState

#: A claim, the turn, the last `seq` of its stream, and the runs of calls that were started with it.
Begun = tuple[Claim, Turn, int, Sequence[Execution]]

#: A gap in `seq`, larger than the number of events that a database crash can lose (those of about a second). Followers may have
#: read the lost events, so their numbers are not reused.
SEQ_GAP = 10_000


def title_of(text: str) -> str:
    """Return the title of a chat with this first message."""
    return mask_text(text.strip()[:80].partition("\n")[0])


def start_turn(
    chat: Chat,
    text: str,
    agent: Agent,
    *,
    source: str,
    known: Progress | None = None,
    new: bool = False,
    also: Sequence[Write] = (),
    trace: Mapping[str, str] | None = None,
    **below: Any,
) -> Turn:
    """Create the turn that answers `text`: begun in this process if it runs turns, otherwise queued.

    `known` is the progress before the first step, if known. `new`: the open transaction has created the chat. `also` are rows to
    write with the turn, such as the message. `trace` is the context of the message. `below`
    holds `parent_call_id`, `root` and `depth` of a sub-agent's turn.
    """
    owner = "" if below else doorbell.claims_as()
    if owner:
        below = {"state": TurnState.RUNNING, "attempt": 1, "lease_owner": owner}
    turn = Turn(
        chat=chat,
        message_id=uuid4().hex,
        agent=agent.name,
        agent_version=agent.version,
        source=source,
        trace=trace,
        **below,
    )
    writes = [*also, rows.TURN.of(turn, lease=LEASE if owner else None)]
    if not (new and chat.title):
        chat.title = chat.title or title_of(text)
        chat.updated_at = timezone.now()
        named = rows.NAME_CHAT.of(
            pk=chat.pk, title=chat.title, updated_at=chat.updated_at
        )
        writes.append(named)
    write_together(writes)
    if owner:
        after_commit(_begin_here, turn, known)
    else:
        queue_turn(turn.pk)
    notify_after_commit(chat.pk)
    return turn


def _begin_here(turn: Turn, known: Progress | None) -> None:
    """Let this process run a turn that it has claimed by creating it."""
    progress = Progress(before=history_before(turn)) if known is None else known
    hand_over(
        (
            Claim(
                turn.pk,
                turn.attempt,
                RunnerState(turn, turn.version, progress, progress),
            ),
            turn,
            0,
            (),
        )
    )


def begin_run(turn_id: int, *, owner: str) -> Begun | None:
    """Claim a queued turn, or one whose lease has expired, and start its ready calls, except those of sub-agents.

    None if another runner has it or is writing to it. Events of an uncommitted step are deleted, because the model will be asked
    again, and the calls that the previous runner left running are recovered. Leases expire by the database's clock, so that a
    process with a wrong clock cannot take another's turn.
    """
    with transaction.atomic():
        free = _FREE.first(pk=turn_id)
        return None if free is None else _begin(locked_turn(free), owner)


def continue_turn(turn_id: int, *, owner: str) -> Begun | None:
    """Apply the decisions made since a turn's pause, and begin its run in the same commit.

    None if it still has to wait, or is no longer suspended.
    """
    with transaction.atomic():
        with in_line(("turn", turn_id)):
            suspended = _SUSPENDED.first(pk=turn_id)
        if suspended is None:
            return None
        return continue_locked(locked_turn(suspended), owner)


def continue_locked(locked: LockedTurn, owner: str) -> Begun | None:
    """Like `continue_turn`, for a suspended turn that the open transaction has locked."""
    signed = settle_requests(locked)
    notify_all_after_commit(locked.turn)
    if locked.at_rest():
        store(locked, signed)
        return None
    resume_parent(locked.turn)
    return _begin(locked, owner, signed)


def hand_over(begun: Begun) -> None:
    """Let this process continue a run begun by one of its threads."""
    if not doorbell.notify_claimed(begun):
        # The process is shutting down. Its calls are marked as running, and only this process knows that they never ran.
        release_turn(begun[0])


def wake_turn(turn_id: int) -> None:
    """Resume a suspended turn that need not wait: at once in this process if it runs turns, otherwise through the queue."""
    owner = doorbell.claims_as()
    if not owner:
        resume_turn(turn_id)
    elif (begun := continue_turn(turn_id, owner=owner)) is not None:
        hand_over(begun)


def _free_turns() -> QuerySet[Any]:
    free = Q(state=TurnState.QUEUED) | Q(state=TurnState.RUNNING, lease_until__lt=Now())
    # Do not wait for the lock: a process that was frozen inside a transaction may hold it. The sweep tries again.
    return (
        turns_to_read()
        .filter(free)
        .select_for_update(of=("self",), skip_locked=True, no_key=True)
    )


#: A turn that a runner may claim, locked if no one else has the lock.
_FREE: Prepared[Any] = Prepared(_free_turns)
#: A suspended turn, locked.
_SUSPENDED: Prepared[Any] = Prepared(
    lambda: turns_to_read(state=TurnState.SUSPENDED).select_for_update(
        of=("self",), no_key=True
    )
)


def _begin(
    locked: LockedTurn, owner: str, signed: Mapping[str, Signed] | None = None
) -> Begun:
    """Claim a locked turn and start its ready calls."""
    last, claim = _claim(locked, owner)
    # The runner starts the calls of sub-agents: `delegate_calls`.
    own_tools = {tool.name: tool for tool in _tools(locked.turn) if tool.agent is None}
    started = [] if locked.turn.stopped else begin_calls(locked, own_tools)
    store(locked, signed, also=[claim])
    return locked.claim(), locked.turn, last, started


def _claim(locked: LockedTurn, owner: str) -> tuple[int, Write]:
    """Give a locked turn to a runner; return the last `seq` of its stream, and the write that stores it.

    The caller writes it, and stores the recovered calls.
    """
    turn = locked.turn
    last = locked.last_seq
    if turn.attempt and turn.state != TurnState.SUSPENDED:
        last = _last_seq(locked)
        locked.progress = transitions.recover(
            locked.progress, [tool.name for tool in _tools(turn) if tool.idempotent]
        )
    turn.state = TurnState.RUNNING
    turn.attempt = turn.attempt + 1
    turn.version = turn.version + 1
    turn.finish_reason = ""
    write = rows.CLAIM_TURN.of(
        pk=turn.pk,
        state=turn.state,
        attempt=turn.attempt,
        version=turn.version,
        lease_owner=owner,
        lease=LEASE,
        finish_reason="",
    )
    return last, write


def _last_seq(locked: LockedTurn) -> int:
    """Delete events of an uncommitted step; return the `seq` after which the stream continues.

    No follower has read an event with a higher number.
    """
    turn = locked.turn
    last = turn.events.order_by("-seq").first()
    # A pause is committed synchronously, with all events before it. If a runner has claimed the turn since, it may have published
    # events that the database has lost.
    paused = (
        last is not None
        and last.attempt == turn.attempt
        and isinstance(events.from_json(last.chunk), events.TurnPaused)
    )
    if not paused:
        turn.events.filter(step__gte=len(locked.progress.steps)).delete()
    return (last.seq if last is not None else 0) + (0 if paused else SEQ_GAP)


def _tools(turn: Turn) -> Sequence[Tool]:
    """Return the tools of the turn's agent; none if the agent is gone, and then the turn fails."""
    try:
        return registry.get(settings.HITL_AGENTS, turn.agent).all_tools
    except registry.UnknownAgent:
        return []


def renew_leases(claims: Collection[Claim]) -> tuple[set[int], set[int]]:
    """Renew the leases of these claims; return the ids of the turns still held, and of those that were stopped."""
    claimed = Q(pk__in=[])
    for claim in claims:
        claimed |= Q(pk=claim.turn_id, attempt=claim.attempt)
    turns = Turn.objects.filter(claimed, state=TurnState.RUNNING)
    with transaction.atomic():
        # If a crash of the database loses this write, the leases only expire earlier.
        async_commit()
        turns.update(lease_until=lease_end())
    stopped_by_pk = dict(turns.values_list("pk", "stopped"))
    return set(stopped_by_pk), {pk for pk, stopped in stopped_by_pk.items() if stopped}


def lease_owners(prefix: str) -> set[str]:
    """Return the owners of running turns whose names begin with `prefix`."""
    running = Turn.objects.filter(
        state=TurnState.RUNNING, lease_until__gt=Now(), lease_owner__startswith=prefix
    )
    return set(running.values_list("lease_owner", flat=True))


def end_leases(owner: str) -> None:
    """End the leases of an owner whose process has died."""
    Turn.objects.filter(
        state=TurnState.RUNNING, lease_owner=owner, lease_until__gt=Now()
    ).update(lease_until=Now())


def release_turn(claim: Claim, begun: Collection[str] = ()) -> bool:
    """Queue the turn and its calls that have not begun for another runner; return False if this runner no longer has it.

    `begun` are the toolCallIds of the calls whose tools this runner has begun.
    """
    try:
        with claimed_turn(claim) as locked:
            locked.progress = transitions.give_back(locked.progress, begun)
            store(locked)
            Turn.objects.filter(pk=claim.turn_id).update(
                state=TurnState.QUEUED, lease_owner="", lease_until=None
            )
            queue_turn(claim.turn_id)
    except LeaseLost:
        return False
    return True
