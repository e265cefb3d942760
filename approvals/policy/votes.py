"""Count the votes on a request: which of them count, how far its stages are, and whether that decides it.

Rules, from which the rest follows:

- A vote counts for the exact input it was given on, in the stage it was given in, and while its voter may vote there.
- Stages come in order: only the first one that is not met takes new votes. Someone of a later stage has to wait, because
  that stage is there to see what the earlier one approved. Who has voted may change the vote until the outcome.
- A person has one vote on a request. It counts in one stage, and in a stage joined by *and* for one group.
- A vote takes a seat: that of the voter, or that of someone who is away and for whom the voter decides. A seat counts once,
  by the vote of the person themselves before that of a delegate. So there are never fewer voters than votes that count.
- A vote for someone else counts while that person may vote and the delegate holds the right to decide. It goes on counting
  when the absence ends: it was given by someone who could, and whoever is back can replace it with a vote of their own.
- A rejection with veto ends the request. Without, it ends once a stage in which someone has rejected can no longer be met by
  the people who are left: those who have not rejected, and whose vote does not count in another stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import islice, product

from approvals.policy.terms import Stage, Terms
from approvals.states import Status

#: Choices among groups that are joined by *or*, of all stages together, that are looked at.
_MOST_COMBINATIONS = 1_000
#: The ids of people for each group of each stage.
Groups = Sequence[Sequence[Set[int]]]


@dataclass(frozen=True, slots=True)
class Electorate:
    """Who may vote in their own right, and the `delegates` of people who are away: those of them who may still decide."""

    stages: Groups
    delegates: Set[int] = frozenset()

    def has(self, seat: int, stage: int | None) -> bool:
        """Return whether someone is in a group of this stage."""
        return stage is not None and stage < len(self.stages) and any(seat in group for group in self.stages[stage])

    def admits(self, vote: Cast) -> bool:
        """Return whether a vote may count: that of someone in its stage, given by them or by a delegate."""
        return self.has(vote.seat, vote.stage) and (vote.person == vote.seat or vote.person in self.delegates)


@dataclass(frozen=True, slots=True)
class Cast:
    """A vote: who gave it, whether it approves, in which stage it was given, and the digest of the input it was given on.

    `absent` is for whom it was given, None if for the person themselves.
    """

    person: int
    approves: bool
    stage: int
    digest: str
    absent: int | None = None

    @property
    def seat(self) -> int:
        return self.person if self.absent is None else self.absent


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes on a request, counted. `filled` has the approvals that each group of each stage has; a surplus is left out.

    `current` is the stage that takes votes, None once all are met; `counted` has the vote that counts for each seat.
    """

    standing: Status
    current: int | None
    filled: tuple[tuple[int, ...], ...]
    counted: dict[int, Cast]

    @property
    def voters(self) -> set[int]:
        """Return the people who gave the votes that count."""
        return {vote.person for vote in self.counted.values()}

    def approving(self, stage: int) -> list[int]:
        """Return the seats whose vote approves in this stage."""
        return [seat for seat, vote in self.counted.items() if vote.approves and vote.stage == stage]


def count(terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str) -> Tally:
    """Return how the request stands whose input now has this digest."""
    tally = progress(terms, votes, electorate, digest)
    if tally.current is None:
        return tally
    rejecting = _rejecting(tally)
    if rejecting and (terms.veto or not _can_be_met(terms, tally, rejecting, electorate)):
        return Tally(Status.REJECTED, tally.current, tally.filled, tally.counted)
    return tally


def progress(terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str) -> Tally:
    """Return how far the request is; whether rejections end it is not looked at, so the electorate may have voters only."""
    counted: dict[int, Cast] = {}
    for vote in votes:
        held = counted.get(vote.seat)
        # The last one that was given for someone counts, unless there is one of their own.
        if vote.digest == digest and electorate.admits(vote) and (held is None or held.absent is not None):
            counted[vote.seat] = vote
    filled, current = [], None
    for number, (stage, groups) in enumerate(zip(terms.stages, electorate.stages, strict=True)):
        approving = [seat for seat, vote in counted.items() if vote.approves and vote.stage == number]
        places = fill(stage, groups, approving)
        filled.append(tuple(map(len, places)))
        if current is None and not is_met(stage, filled[-1]):
            current = number
    standing = Status.PENDING if current is not None else Status.APPROVED
    return Tally(standing, current, tuple(filled), counted)


def seat_for(terms: Terms, seats: Sequence[int], tally: Tally, electorate: Electorate) -> tuple[int, int] | None:
    """Return for whom someone votes now, and in which stage; None if no vote of theirs is wanted.

    `seats` are those for whom they may vote, they themselves first (`policy.absence`). Who has voted may change that vote.
    Their own seat comes first, then those of people who are away: the first one that still brings the stage further.
    """
    person = seats[0]
    cast = next((vote for vote in tally.counted.values() if vote.person == person), None)
    if cast is not None:
        return (cast.seat, cast.stage) if cast.seat in seats else None
    if person in tally.counted:
        # Someone has voted for them while they were away: their own vote replaces it where it counts.
        return person, tally.counted[person].stage
    if tally.current is None:
        return None
    wanted = missing(terms, tally, electorate)
    seat = next((each for each in seats if each in wanted), person)
    return (seat, tally.current) if electorate.has(seat, tally.current) else None


def missing(terms: Terms, tally: Tally, electorate: Electorate) -> set[int]:
    """Return the people whose approval, given by them or for them, would bring the stage further that takes votes."""
    if tally.current is None:
        return set()
    stage, groups, approving = (
        terms.stages[tally.current],
        electorate.stages[tally.current],
        tally.approving(tally.current),
    )
    filled = sum(map(len, fill(stage, groups, approving)))
    left = set[int]().union(*groups) - set(tally.counted)
    return {seat for seat in left if sum(map(len, fill(stage, groups, [*approving, seat]))) > filled}


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


def has_enough_people(terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str) -> bool:
    """Return whether the people who have not rejected are enough for all stages, each of them for one."""
    tally = progress(terms, votes, electorate, digest)
    rejecting = _rejecting(tally)
    # Of groups that are joined by *or*, one is enough.
    choices = [
        [(each,) for each in range(len(stage.groups))] if stage.any else [range(len(stage.groups))]
        for stage in terms.stages
    ]
    combinations = islice(product(*choices), _MOST_COMBINATIONS)
    return any(_can_fill(chosen, terms, tally, rejecting, electorate) for chosen in combinations)


def _can_fill(
    chosen: Sequence[Sequence[int]], terms: Terms, tally: Tally, rejecting: Set[int], electorate: Electorate
) -> bool:
    """Return whether the people who are left fill these groups of each stage; whoever has voted stays in their stage."""
    groups, members = [], []
    for number, places in enumerate(chosen):
        elsewhere = {seat for seat, vote in tally.counted.items() if vote.stage != number}
        groups += [terms.stages[number].groups[place] for place in places]
        members += [electorate.stages[number][place] - rejecting - elsewhere for place in places]
    together = Stage(groups=tuple(groups))
    people = sorted(set[int]().union(*members))
    return is_met(together, [*map(len, fill(together, members, people))])


def _rejecting(tally: Tally) -> set[int]:
    return {seat for seat, vote in tally.counted.items() if not vote.approves}


def _can_be_met(terms: Terms, tally: Tally, rejecting: Set[int], electorate: Electorate) -> bool:
    """Return whether the stages in which someone has rejected can still be met by the people who are left."""
    return all(
        _can_meet(number, terms, tally, rejecting, electorate)
        for number, groups in enumerate(electorate.stages)
        if rejecting & set[int]().union(*groups)
    )


def _can_meet(number: int, terms: Terms, tally: Tally, rejecting: Set[int], electorate: Electorate) -> bool:
    """Return whether the people who are left are enough for a stage."""
    stage, groups = terms.stages[number], electorate.stages[number]
    elsewhere = {seat for seat, vote in tally.counted.items() if vote.stage != number}
    left = sorted(set[int]().union(*groups) - rejecting - elsewhere)
    return is_met(stage, [*map(len, fill(stage, groups, left))])
