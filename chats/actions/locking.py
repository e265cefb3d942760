"""Lock a turn, and track its stored value.

Every writer of a turn locks its row first and increments its version. A runner that has read the turn and finds the version that
it knows need not read it again; if someone else has written meanwhile, it reads the turn under the lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import BigAutoField, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils import timezone

from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line
from approvals.models import subscriptions
from chats import queries
from chats.actions import rows
from chats.actions.transitions import Transition
from chats.agent import events
from chats.exceptions import LeaseLost
from chats.models import Turn
from chats.queries import subagents
from chats.queries.progress import Progress
from chats.states import CallState, TurnState

#: How long a runner keeps a turn without renewing its lease.
LEASE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class RunnerState:
    """A runner's knowledge of its turn: the row with its chat and owner, its stored value, and changes since.

    `stored` was read or written at `version`. `progress` is the value after applying everything in `pending`, which the next
    commit stores.
    """

    turn: Turn
    version: int
    stored: Progress
    progress: Progress
    pending: tuple[Transition, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A runner's right to write to a turn. `attempt` is the fencing number in each of its writes."""

    turn_id: int
    attempt: int
    known: RunnerState | None = field(default=None, compare=False, repr=False)

    def after(self, transition: Transition) -> Claim:
        """Return the claim after a transition that the next commit stores."""
        assert self.known is not None
        known = self.known
        return replace(
            self,
            known=replace(
                known,
                progress=transition(known.progress),
                pending=(*known.pending, transition),
            ),
        )


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stream event with its position: `seq` counts over the whole turn, `step` is the index of its step."""

    seq: int
    step: int
    event: events.Event


@dataclass(slots=True)
class LockedTurn:
    """A turn locked by the open transaction: its row, its stored value, and changes since.

    `last_seq` is the number of the last event of its stream, and `at` the time of the lock. Writing functions change the row.
    """

    turn: Turn
    last_seq: int
    stored: Progress
    progress: Progress
    #: Whether a webhook or a person is subscribed to events.
    heard: bool
    at: datetime = field(default_factory=timezone.now)
    #: Whether the turn has had no pause: each pause is followed by another claim, and a branch begins with one.
    never_paused: bool = field(init=False)

    def __post_init__(self) -> None:
        first_run = (self.turn.state, self.turn.attempt) in {
            (TurnState.QUEUED, 0),
            (TurnState.RUNNING, 1),
        }
        self.never_paused = first_run and self.turn.chat.branched_from_id is None

    def at_rest(self) -> bool:
        """Return whether it can only wait: for people, or for sub-agents that are all suspended."""
        states = {call.state for call in self.progress.calls}
        if CallState.DELEGATED in states:
            below = {each.state for _, each in subagents.delegated(self.turn)}
            return below == {TurnState.SUSPENDED}
        return not states.isdisjoint({CallState.WAITING, CallState.UNKNOWN})

    def claim(self) -> Claim:
        """The claim of the turn's runner, once all changes are stored."""
        known = RunnerState(self.turn, self.turn.version, self.stored, self.progress)
        return Claim(self.turn.pk, self.turn.attempt, known)


def lease_end() -> Combinable:
    """Return the end of a lease that begins now, by the database's clock."""
    return Now() + LEASE


@contextmanager
def claimed_turn(claim: Claim, *, changes: bool = True) -> Iterator[LockedTurn]:
    """Open a transaction of a runner and lock its turn as in `lock_turn`. Raise LeaseLost if another runner has the turn."""
    with transaction.atomic():
        locked = lock_turn(claim.turn_id, claim.known, changes=changes)
        if locked is None:
            raise LeaseLost(f"turn {claim.turn_id} is gone")
        if (
            locked.turn.state != TurnState.RUNNING
            or locked.turn.attempt != claim.attempt
        ):
            raise LeaseLost(f"turn {claim.turn_id}: attempt {claim.attempt} is over")
        yield locked


def lock_turn(
    turn_id: int, known: RunnerState | None = None, *, changes: bool = True
) -> LockedTurn | None:
    """Lock a turn for the rest of the transaction; None if it is gone. It is read again if `known` is out of date.

    With `changes=False`, the caller writes only stream events, and the version stays: a database crash may lose such a commit,
    and then a change by someone else would get the version that the runner expects.
    """
    with in_line(("turn", turn_id)):
        row = rows.LOCK_TURN.row(pk=turn_id, added=int(changes))
    if row is None:
        return None
    version, state, attempt, stopped, last_seq, heard = row
    if known is None or known.version + int(changes) != version:
        turn = _TURN.first(pk=turn_id)
        return None if turn is None else locked_turn(turn, known)
    turn = copy(known.turn)
    turn.version = version
    turn.state = state
    turn.attempt = attempt
    turn.stopped = stopped
    return LockedTurn(turn, last_seq, known.stored, known.progress, heard)


def turns_to_read(**conditions: Any) -> QuerySet[Any]:
    """Return the turn with the parameter `pk`, with everything that `locked_turn` needs."""
    turns = Turn.objects.select_related("chat__owner").filter(
        pk=Parameter("pk", BigAutoField()), **conditions
    )
    return turns.annotate(**{"stored": rows.last_seq(), "heard": subscriptions.heard()})


#: A turn, read again because someone else has changed it.
_TURN: Prepared[Any] = Prepared(turns_to_read)


def locked_turn(turn: Any, known: RunnerState | None = None) -> LockedTurn:
    """Return a locked turn that was read with `turns_to_read`; its progress is read here."""
    stored = progress = queries.progress_of(turn)
    for transition in known.pending if known is not None else ():
        progress = transition(progress)
    return LockedTurn(turn, turn.stored, stored, progress, turn.heard)


#: A turn, locked if no one else has the lock.
_IF_UNLOCKED: Prepared[int] = Prepared(
    lambda: (
        Turn.objects.select_for_update(of=("self",), skip_locked=True, no_key=True)
        .filter(pk=Parameter("pk", BigAutoField()))
        .values_list("pk", flat=True)
    )
)


def try_to_lock(turn_id: int) -> bool:
    """Lock a turn if no other transaction has; return whether this one has it now.

    For callers that can try again later: a process frozen inside a transaction may hold the lock for long.
    """
    return _IF_UNLOCKED.first(pk=turn_id) is not None
