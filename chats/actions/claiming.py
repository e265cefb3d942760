"""Who runs a turn: a lease of LEASE, kept up by its holder, and a fencing number that makes a late holder harmless."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from approvals.runtime import async_commit
from chats.actions.calling import recover_calls
from chats.actions.writes import Claim, queue_turn
from chats.agent import events, registry
from chats.models import Turn
from chats.states import TurnState

LEASE = timedelta(seconds=15)
RENEW_EVERY = timedelta(seconds=5)
#: More numbers than a database that crashes can have lost of a stream: what it commits without waiting for the disk within
#: a second. Followers may have read them.
LEAP = 10_000


def claim_turn(turn_id: int, *, owner: str) -> tuple[Claim, Turn, int] | None:
    """Take a queued turn, or one whose holder fell silent; None if somebody else has it, or is writing to it now.

    Gives the claim, the turn and the last `seq` of its stream. Chunks of a step that was never committed are dropped: the
    model will be asked again. Calls that the runner before left in the middle are looked after in the same commit. Time is
    the database's: a process whose own clock is wrong takes nobody's turn.
    """
    free = Q(state=TurnState.QUEUED) | Q(state=TurnState.RUNNING, lease_until__lt=Now())
    with transaction.atomic():
        # A process that was frozen in a transaction holds the turn's lock: who waited for it here could do nothing else. The
        # sweep asks again in a second.
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
    """The number behind which the turn's stream goes on: above all that any follower may have read."""
    last = turn.events.order_by("-seq").first()
    # All before a pause was committed together with it, and waited for the disk. A runner that claimed the turn after the pause
    # may have told more, which the database has lost.
    rested = (
        last is not None
        and last.attempt == turn.attempt - 1
        and isinstance(events.from_json(last.chunk), events.TurnPaused)
    )
    return (last.seq if last is not None else 0) + (0 if rested or turn.attempt == 1 else LEAP)


def _idempotent_tools(turn: Turn) -> list[str]:
    """The names of the tools that may run again; none where the agent is gone, and then the turn fails."""
    try:
        agent = registry.get(settings.HITL_AGENTS, turn.agent)
    except registry.UnknownAgent:
        return []
    return [tool.name for tool in agent.tools if tool.idempotent]


def renew_lease(claim: Claim) -> tuple[bool, bool]:
    """Keep the turn for another LEASE; gives whether it is still ours, and whether somebody pressed stop."""
    held = Turn.objects.filter(pk=claim.turn_id, attempt=claim.attempt, state=TurnState.RUNNING)
    with transaction.atomic():
        # Lost with the power, it leaves the lease as it was: it lapses sooner, and its holder has gone with the database.
        async_commit.found_again()
        if not held.update(lease_until=Now() + LEASE):
            return False, False
    return True, Turn.objects.filter(pk=claim.turn_id, stopped=True).exists()


def release_turn(claim: Claim) -> bool:
    """Hand a turn over to whoever takes it next; False if it was not ours any more."""
    with transaction.atomic():
        held = Turn.objects.filter(pk=claim.turn_id, attempt=claim.attempt, state=TurnState.RUNNING)
        released = held.update(state=TurnState.QUEUED, lease_owner="", lease_until=None)
        if released:
            queue_turn(claim.turn_id)
    return bool(released)
