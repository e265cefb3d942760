"""Which runner has a turn: a lease that its holder renews, and a fencing number that makes late writers harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import BigAutoField, Q, QuerySet
from django.db.models.functions import Now

from approvals.runtime.prepared import Parameter, Prepared
from approvals.runtime.transactions import async_commit
from chats import queries
from chats.actions.calling import Execution, give_back_calls, recover_calls, start_calls
from chats.actions.writes import Claim, Known, queue_turn
from chats.agent import events, registry
from chats.agent.tools import Tool
from chats.models import Turn
from chats.states import TurnState

LEASE = timedelta(seconds=15)
RENEW_EVERY = timedelta(seconds=5)
#: A gap in `seq`, larger than the number of events that a crash of the database can lose (those of about a second).
#: Followers may have read the lost events, so their numbers are not used again.
SEQ_GAP = 10_000


def begin_run(turn_id: int, *, owner: str) -> tuple[Claim, Turn, int, list[Execution]] | None:
    """Claim a turn as `claim_turn` does, with what a runner has to know, and start its ready calls in the same commit.

    Also returns the started calls. Calls of sub-agents are not started here.
    """
    with transaction.atomic():
        claimed = claim_turn(turn_id, owner=owner)
        if claimed is None:
            return None
        found, turn, last = claimed
        read = queries.progress_of(turn)
        claim = replace(found, known=Known(turn, is_new=turn.attempt == 1 and not read.steps, progress=read))
        progress = claim.progress()
        started: list[Execution] = []
        if progress is not None and not turn.stopped:
            started = start_calls(claim, turn, [call for call in progress.calls if call.name in _own_tools(turn)])
        return claim, turn, last, started


def _free_turns() -> QuerySet[Turn]:
    free = Q(state=TurnState.QUEUED) | Q(state=TurnState.RUNNING, lease_until__lt=Now())
    # Do not wait for the lock: a process that was frozen inside a transaction may hold it. The sweep tries again.
    unlocked = Turn.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
    return unlocked.select_related("chat__owner").filter(free, pk=Parameter("pk", BigAutoField()))


_FREE: Prepared[Turn] = Prepared(_free_turns)


def claim_turn(turn_id: int, *, owner: str) -> tuple[Claim, Turn, int] | None:
    """Claim a queued turn, or one whose lease has expired; None if another runner has it or is writing to it.

    Returns the claim, the turn, and the last `seq` of its stream. Events of an uncommitted step are deleted, because the
    model will be asked again, and the calls that the previous runner left running are recovered. Leases go by the database's
    clock, so a process with a wrong clock takes no turn from another.
    """
    with transaction.atomic(savepoint=False):
        turn = _FREE.first(pk=turn_id)
        if turn is None:
            return None
        turn.state, turn.attempt, turn.finish_reason = TurnState.RUNNING, turn.attempt + 1, ""
        Turn.objects.filter(pk=turn_id).update(
            state=turn.state,
            attempt=turn.attempt,
            lease_owner=owner,
            lease_until=Now() + LEASE,
            finish_reason="",
        )
        last = 0
        if turn.attempt > 1:
            last = _last_seq(turn)
            recover_calls(turn, [tool.name for tool in _tools(turn) if tool.idempotent])
    return Claim(turn.pk, turn.attempt), turn, last


def _last_seq(turn: Turn) -> int:
    """Delete events of an uncommitted step; return the `seq` after which the stream goes on.

    That is at least the highest that any follower may have read.
    """
    last = turn.events.order_by("-seq").first()
    # A pause is committed synchronously, with all events before it. If a runner has claimed the turn since, it may have
    # published events that the database has lost.
    rested = (
        last is not None
        and last.attempt == turn.attempt - 1
        and isinstance(events.from_json(last.chunk), events.TurnPaused)
    )
    if not rested:
        turn.events.filter(step__gte=turn.steps.count()).delete()
    return (last.seq if last is not None else 0) + (0 if rested else SEQ_GAP)


def _own_tools(turn: Turn) -> set[str]:
    """Return the names of the tools that the agent runs itself."""
    return {tool.name for tool in _tools(turn) if tool.agent is None}


def _tools(turn: Turn) -> Sequence[Tool]:
    """Return the tools of the turn's agent; none if the agent is gone, and then the turn fails."""
    try:
        return registry.get(settings.HITL_AGENTS, turn.agent).all_tools
    except registry.UnknownAgent:
        return []


def renew_lease(claim: Claim) -> tuple[bool, bool]:
    """Renew the lease; return whether this runner still has the turn, and whether the turn was stopped."""
    held = Turn.objects.filter(pk=claim.turn_id, attempt=claim.attempt, state=TurnState.RUNNING)
    with transaction.atomic():
        # If a crash of the database loses this write, the lease only expires earlier.
        async_commit()
        if not held.update(lease_until=Now() + LEASE):
            return False, False
    return True, Turn.objects.filter(pk=claim.turn_id, stopped=True).exists()


def release_turn(claim: Claim) -> bool:
    """Queue the turn for another runner, with the calls not begun; return False if this runner no longer has it."""
    with transaction.atomic():
        held = Turn.objects.filter(pk=claim.turn_id, attempt=claim.attempt, state=TurnState.RUNNING)
        released = held.update(state=TurnState.QUEUED, lease_owner="", lease_until=None)
        if released:
            give_back_calls(claim)
            queue_turn(claim.turn_id)
    return bool(released)
