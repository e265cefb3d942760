"""The policy's outcomes for an answer, as values that the writer stores."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from approvals.asking.answers import Answer
from approvals.exceptions import Refusal
from approvals.models import Vote
from approvals.models.actors import RecordedActor, Signatory
from approvals.policy.grants import GrantCase, GrantTerms
from approvals.states import Door


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing is stored."""

    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedAlone:
    """The answer ends the request as this person's decision alone, on behalf of `absent` if set.

    `in_place_of_votes`: the terms require several people. `grant` is given with it.
    """

    answer: Answer
    absent: User | None = None
    in_place_of_votes: bool = False
    grant: tuple[GrantTerms, GrantCase] | None = None


@dataclass(frozen=True, slots=True)
class Uncounted:
    """It is a vote, and votes are not read before the lock: there is no outcome yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVote:
    """A new vote: a row that is not stored yet and lacks its time, and the earlier one that it `replaces`.

    `proposal` is the changed input that everyone votes on with it, None for the original one; `changes`: the votes so far were on
    another input.
    """

    row: Vote
    replaces: Vote | None
    proposal: dict[str, Any] | None
    changes: bool

    @property
    def repeats(self) -> bool:
        """Whether it repeats the stored vote. Proposing an input again goes beyond an earlier vote on it."""
        if self.replaces is None or self.changes:
            return False
        columns = ("verdict", "comment", "digest", "stage", "for_id")
        return all(
            getattr(self.replaces, name) == getattr(self.row, name) for name in columns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How votes end a request: by the voter of the last deciding vote, possibly on someone's behalf.

    `voters` are the people whose votes count. `recounted`: no one votes now; the right to vote has changed.
    """

    answer: Answer
    by: Signatory
    via: Door
    absent: RecordedActor | None
    voters: Set[int]
    recounted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Voted:
    """It is a vote, which gives the request its `ending` or leaves it pending; `calls`: other people are notified of it."""

    answer: Answer
    vote: NewVote
    calls: bool = False
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class VotedBefore:
    """The same person has already given the same vote, and the request stays pending."""

    vote: Vote


@dataclass(frozen=True, slots=True)
class EndedBefore:
    """The votes of others decide the request without this one: they were not counted since the right to vote changed."""

    ending: Ending


PolicyOutcome = Refused | DecidedAlone | Uncounted | Voted | VotedBefore | EndedBefore
