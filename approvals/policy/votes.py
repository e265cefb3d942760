"""Count the votes on a request: which of them count, how far its stages are, and whether that decides it.

Rules, from which the rest follows:

- A vote counts for the exact input it was given on, in the stage it was given in, and while its voter may vote there.
- Stages come in order: only the first one that is not met takes new votes. Someone of a later stage has to wait, because
  that stage is there to see what the earlier one approved. Who has voted may change the vote until the outcome.
- A person has one vote on a request. It counts in one stage, and in a stage joined by *and* for one group.
- A rejection with veto ends the request. Without, it ends once a stage in which someone has rejected can no longer be met by
  the people who are left: those who have not rejected, and whose vote does not count in another stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from approvals.policy.terms import Stage, Terms
from approvals.states import Status

#: Who may vote: the ids of people for each group of each stage.
Electorate = Sequence[Sequence[Set[int]]]


@dataclass(frozen=True, slots=True)
class Cast:
    """A vote: who gave it, whether it approves, in which stage it was given, and the digest of the input it was given on."""

    person: int
    approves: bool
    stage: int
    digest: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes on a request, counted. `filled` has the approvals that each group of each stage has; a surplus is left out.

    `current` is the stage that takes votes, None once all are met; `counted` are the people whose vote counts, by their stage.
    """

    standing: Status
    current: int | None
    filled: tuple[tuple[int, ...], ...]
    counted: dict[int, int]


def needs_person(terms: Terms) -> bool:
    """Return whether these terms ask for something that no grant can give."""
    return bool(terms.stages) or terms.typed_name or terms.fresh_sign_in


def count(terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str) -> Tally:
    """Return how the request stands whose input now has this digest."""
    tally = progress(terms, votes := list(votes), electorate, digest)
    if tally.current is None:
        return tally
    rejecting = {vote.person for vote in votes if vote.person in tally.counted and not vote.approves}
    if rejecting and (terms.veto or not _can_be_met(terms, tally, rejecting, electorate)):
        return Tally(Status.REJECTED, tally.current, tally.filled, tally.counted)
    return tally


def progress(terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str) -> Tally:
    """Return how far the request is; whether rejections end it is not looked at, so the electorate may have voters only."""
    valid = [vote for vote in votes if vote.digest == digest and is_in(vote.person, electorate, vote.stage)]
    filled, current = [], None
    for number, (stage, groups) in enumerate(zip(terms.stages, electorate, strict=True)):
        approving = [vote.person for vote in valid if vote.approves and vote.stage == number]
        places = fill(stage, groups, approving)
        filled.append(tuple(map(len, places)))
        if current is None and not is_met(stage, filled[-1]):
            current = number
    standing = Status.PENDING if current is not None else Status.APPROVED
    return Tally(standing, current, tuple(filled), {vote.person: vote.stage for vote in valid})


def stage_for(person: int, tally: Tally, electorate: Electorate) -> int | None:
    """Return the stage in which someone may vote now: that of the vote that counts already, or the one that takes votes."""
    if person in tally.counted:
        return tally.counted[person]
    return tally.current if is_in(person, electorate, tally.current) else None


def is_in(person: int, electorate: Electorate, stage: int | None) -> bool:
    """Return whether someone is in a group of this stage."""
    return stage is not None and stage < len(electorate) and any(person in group for group in electorate[stage])


def is_met(stage: Stage, filled: Sequence[int]) -> bool:
    """Return whether a stage has what it needs."""
    full = [votes >= group.votes for group, votes in zip(stage.groups, filled, strict=True)]
    return any(full) if stage.any else all(full)


def fill(stage: Stage, groups: Sequence[Set[int]], people: Iterable[int]) -> list[set[int]]:
    """Return who fills the groups of a stage, each up to the votes that it needs.

    By *or*, everyone counts in every group of theirs. By *and*, everyone counts in one group, and as many places are filled as
    is possible: who came first moves to another group of theirs if that makes room (augmenting paths).
    """
    places: list[set[int]] = [set() for _ in groups]
    for person in people:
        if not stage.any:
            _place(person, stage, groups, places, set())
            continue
        for group, members, taken in zip(stage.groups, groups, places, strict=True):
            if person in members and len(taken) < group.votes:
                taken.add(person)
    return places


def _place(person: int, stage: Stage, groups: Sequence[Set[int]], places: Sequence[set[int]], tried: set[int]) -> bool:
    """Find a place for someone, moving others if need be. Each group is tried once, so the depth is that of the groups."""
    for number, members in enumerate(groups):
        if person not in members or number in tried:
            continue
        tried.add(number)
        taken = places[number]
        if len(taken) < stage.groups[number].votes:
            taken.add(person)
            return True
        for other in sorted(taken):
            if _place(other, stage, groups, places, tried):
                taken.remove(other)
                taken.add(person)
                return True
    return False


def _can_be_met(terms: Terms, tally: Tally, rejecting: Set[int], electorate: Electorate) -> bool:
    """Return whether the stages in which someone has rejected can still be met by the people who are left."""
    for number, (stage, groups) in enumerate(zip(terms.stages, electorate, strict=True)):
        everyone = set[int]().union(*groups)
        left = [each for each in sorted(everyone - rejecting) if tally.counted.get(each, number) == number]
        if everyone & rejecting and not is_met(stage, [*map(len, fill(stage, groups, left))]):
            return False
    return True
