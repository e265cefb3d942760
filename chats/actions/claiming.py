"""Which runner has a turn: a lease that its holder renews, and a fencing number that makes late writers harmless."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from approvals.runtime.async_commit import async_commit
from chats.actions.calling import recover_calls
from chats.actions.writes import Claim, queue_turn
from chats.agent import events, registry
from chats.models import Turn
from chats.states import TurnState

LEASE = timedelta(seconds=15)
RENEW_EVERY = timedelta(seconds=5)
#: A gap in `seq`, larger than the number of events that a crash of the database can lose (those of about a second).
#: Followers may have read the lost events, so their numbers are not used again.
SEQ_GAP = 10_000


def claim_turn(turn_id: int, *, owner: str) -> tuple[Claim, Turn, int] | None:
    """Claim a queued turn, or one whose lease has expired; None if another runner has it or is writing to it.

    Returns the claim, the turn, and the last `seq` of its stream. Events of an uncommitted step are deleted, because the
    model will be asked again, and the calls that the previous runner left running are recovered. Leases go by the database's
    clock, so a process with a wrong clock takes no turn from another.
    """
    free = Q(state=TurnState.QUEUED) | Q(state=TurnState.RUNNING, lease_until__lt=Now())
    with transaction.atomic():
        # Do not wait for the lock: a process that was frozen inside a transaction may hold it. The sweep tries again.
        unlocked = Turn.objects.filter(free, pk=turn_id).select_for_update(skip_locked=True, no_key=True).values("pk")
        taken = Turn.objects.filter(free, pk__in=unlocked).update(
            state=TurnState.RUNNING,
            attempt=F("attempt") + 1,
            lease_owner=owner,
            lease_until=Now() + LEASE,
            finish_reason="",
        )
        if not taken:
            return None
        turn = Turn.objects.select_related("chat__owner").get(pk=turn_id)
        last = _last_seq(turn)
        turn.events.filter(step__gte=turn.steps.count()).delete()
        recover_calls(turn, _idempotent_tools(turn))
    return Claim(turn.pk, turn.attempt), turn, last


def _last_seq(turn: Turn) -> int:
    """Return the `seq` after which the stream goes on: at least the highest that any follower may have read."""
    last = turn.events.order_by("-seq").first()
    # A pause is committed synchronously, with all events before it. If a runner has claimed the turn since, it may have
    # published events that the database has lost.
    rested = (
        last is not None
        and last.attempt == turn.attempt - 1
        and isinstance(events.from_json(last.chunk), events.TurnPaused)
    )
    return (last.seq if last is not None else 0) + (0 if rested or turn.attempt == 1 else SEQ_GAP)


def _idempotent_tools(turn: Turn) -> list[str]:
    """Return the names of the tools that may run again; none if the agent is gone, and then the turn fails."""
    try:
        agent = registry.get(settings.HITL_AGENTS, turn.agent)
    except registry.UnknownAgent:
        return []
    return [tool.name for tool in agent.tools if tool.idempotent]


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
    """Queue the turn for another runner; return False if this runner no longer has it."""
    with transaction.atomic():
        held = Turn.objects.filter(pk=claim.turn_id, attempt=claim.attempt, state=TurnState.RUNNING)
        released = held.update(state=TurnState.QUEUED, lease_owner="", lease_until=None)
        if released:
            queue_turn(claim.turn_id)
    return bool(released)
