"""Count the votes on a request: which votes count, which stages are met, and whether that decides the request.

The rules:

- A vote counts for the exact input and the stage in which it was given, and while its voter may vote there.
- Stages come in order: only the first unmet stage takes new votes. Later stages have to wait, because they review what the
  earlier one approved. Voters may change their vote until the outcome.
- A person has one vote on a request. It counts in one stage, and in a stage joined by *and* for one group.
- A vote takes a seat: the voter's own, or that of an absent person whose delegate the voter is. A seat counts once, and the
  person's own vote overrides the delegate's. So there are never fewer voters than counted votes.
- A delegate's vote counts while the absent person may vote and the delegate holds the right to decide. It still counts after
  the absence, since it was valid when given; the returning person can replace it with their own vote.
- A rejection with veto ends the request. Without veto, it ends once a stage with a rejection can no longer be met by the
  remaining people: those who have not rejected, and whose vote does not count in another stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import islice, product

from approvals.policy.terms import Stage, Terms
from approvals.states import Status

#: Maximum number of combinations of *or* groups, over all stages, that are tried.
_MOST_COMBINATIONS = 1_000
#: The people's ids for each group of each stage.
Groups = Sequence[Sequence[Set[int]]]


@dataclass(frozen=True, slots=True)
class Electorate:
    """The people who may vote in their own right, and the `delegates` of absent people who may still decide."""

    stages: Groups
    delegates: Set[int] = frozenset()

    def has(self, seat: int, stage: int) -> bool:
        """Return whether this seat is in a group of this stage."""
        return stage < len(self.stages) and any(
            seat in group for group in self.stages[stage]
        )

    def admits(self, vote: Cast) -> bool:
        """Return whether a vote may count: its seat is in its stage, and it was given by that person or a delegate."""
        return self.has(vote.seat, vote.stage) and (
            vote.person == vote.seat or vote.person in self.delegates
        )


@dataclass(frozen=True, slots=True)
class Cast:
    """A vote: the voter, whether it approves, its stage, and the digest of the input it was given on.

    `absent` is the person it was given for, None for the voter's own.
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
    """The counted votes on a request. `places` has the approving seats of each group of each stage, without surplus ones.

    `current` is the stage that takes votes, None once all are met; `counted` maps each seat to its vote.
    """

    standing: Status
    current: int | None
    places: tuple[tuple[Set[int], ...], ...]
    counted: dict[int, Cast]

    @property
    def voters(self) -> set[int]:
        """Return the people who gave the counted votes."""
        return {vote.person for vote in self.counted.values()}

    def approving(self, stage: int) -> list[int]:
        """Return the seats whose vote approves in this stage."""
        return [
            seat
            for seat, vote in self.counted.items()
            if vote.approves and vote.stage == stage
        ]


def count(
    terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str
) -> Tally:
    """Count the votes on a request whose input now has this digest."""
    tally = progress(terms, votes, electorate, digest)
    if tally.current is None:
        return tally
    rejecting = _rejecting(tally)
    if rejecting and (
        terms.veto or not _can_be_met(terms, tally, rejecting, electorate)
    ):
        return Tally(Status.REJECTED, tally.current, tally.places, tally.counted)
    return tally


def progress(
    terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str
) -> Tally:
    """Return the approvals so far, ignoring whether rejections end the request, so the electorate may be just the voters."""
    counted: dict[int, Cast] = {}
    for vote in votes:
        held = counted.get(vote.seat)
        # The last vote of a delegate counts, unless the person has voted themselves.
        if (
            vote.digest == digest
            and electorate.admits(vote)
            and (held is None or held.absent is not None)
        ):
            counted[vote.seat] = vote
    places: list[tuple[Set[int], ...]] = []
    current = None
    for number, (stage, groups) in enumerate(
        zip(terms.stages, electorate.stages, strict=True)
    ):
        approving = [
            seat
            for seat, vote in counted.items()
            if vote.approves and vote.stage == number
        ]
        places.append(tuple(fill(stage, groups, approving)))
        if current is None and not is_met(stage, [len(seats) for seats in places[-1]]):
            current = number
    standing = Status.PENDING if current is not None else Status.APPROVED
    return Tally(standing, current, tuple(places), counted)


def seat_for(
    terms: Terms, seats: Sequence[int], tally: Tally, electorate: Electorate
) -> tuple[int, int] | None:
    """Return the seat and stage of a person's next vote; None if no vote of theirs is wanted.

    `seats` are those that they may vote for, their own first (`policy.absence`). A vote already given may be changed. Otherwise
    it is the first seat whose vote advances the stage.
    """
    person = seats[0]
    cast = next(
        (vote for vote in tally.counted.values() if vote.person == person), None
    )
    if cast is not None:
        return (cast.seat, cast.stage) if cast.seat in seats else None
    if person in tally.counted:
        # A delegate voted for them: their own vote replaces it in the same stage.
        return person, tally.counted[person].stage
    if tally.current is None:
        return None
    wanted = missing(terms, tally, electorate, seats)
    seat = next((each for each in seats if each in wanted), person)
    return (seat, tally.current) if electorate.has(seat, tally.current) else None


def missing(
    terms: Terms,
    tally: Tally,
    electorate: Electorate,
    among: Iterable[int] | None = None,
) -> set[int]:
    """Return the people, `among` these if given, whose approval, by them or for them, would advance the current stage."""
    if tally.current is None:
        return set()
    stage = terms.stages[tally.current]
    groups = electorate.stages[tally.current]
    approving = tally.approving(tally.current)
    filled = sum(map(len, fill(stage, groups, approving)))
    left = set[int]().union(*groups) - set(tally.counted)
    if among is not None:
        left &= set(among)
    return {
        seat
        for seat in left
        if sum(map(len, fill(stage, groups, [*approving, seat]))) > filled
    }


def is_met(stage: Stage, filled: Sequence[int]) -> bool:
    """Return whether a stage has enough votes."""
    full = [
        votes >= group.votes for group, votes in zip(stage.groups, filled, strict=True)
    ]
    return any(full) if stage.any else all(full)


def fill(
    stage: Stage, groups: Sequence[Set[int]], people: Iterable[int]
) -> list[set[int]]:
    """Assign people to the groups of a stage, each group up to the votes it needs.

    With *or*, people count in each of their groups. With *and*, each person counts in one group, and as many places as possible
    are filled: earlier people move to another of their groups if that makes room (augmenting paths).
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


def _place(
    person: int,
    stage: Stage,
    groups: Sequence[Set[int]],
    places: Sequence[set[int]],
    tried: set[int],
) -> bool:
    """Find a place for a person, moving others if necessary. Each group is tried once, which bounds the depth."""
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


def has_enough_people(
    terms: Terms, votes: Iterable[Cast], electorate: Electorate, digest: str
) -> bool:
    """Return whether the people who have not rejected are enough for all stages, each person counting in one."""
    tally = progress(terms, votes, electorate, digest)
    rejecting = _rejecting(tally)
    # Of groups joined by *or*, one is enough.
    choices = [
        [(each,) for each in range(len(stage.groups))]
        if stage.any
        else [range(len(stage.groups))]
        for stage in terms.stages
    ]
    combinations = islice(product(*choices), _MOST_COMBINATIONS)
    return any(
        _can_fill(chosen, terms, tally, rejecting, electorate)
        for chosen in combinations
    )


def _can_fill(
    chosen: Sequence[Sequence[int]],
    terms: Terms,
    tally: Tally,
    rejecting: Set[int],
    electorate: Electorate,
) -> bool:
    """Return whether the remaining people can fill these groups of each stage; people who have voted stay in their stage."""
    groups = []
    members = []
    for number, places in enumerate(chosen):
        elsewhere = {
            seat for seat, vote in tally.counted.items() if vote.stage != number
        }
        groups += [terms.stages[number].groups[place] for place in places]
        members += [
            electorate.stages[number][place] - rejecting - elsewhere for place in places
        ]
    together = Stage(groups=tuple(groups))
    people = sorted(set[int]().union(*members))
    return is_met(together, [*map(len, fill(together, members, people))])


def _rejecting(tally: Tally) -> set[int]:
    return {seat for seat, vote in tally.counted.items() if not vote.approves}


def _can_be_met(
    terms: Terms, tally: Tally, rejecting: Set[int], electorate: Electorate
) -> bool:
    """Return whether the stages with a rejection can still be met by the remaining people."""
    return all(
        _can_meet(number, terms, tally, rejecting, electorate)
        for number, groups in enumerate(electorate.stages)
        if rejecting & set[int]().union(*groups)
    )


def _can_meet(
    number: int, terms: Terms, tally: Tally, rejecting: Set[int], electorate: Electorate
) -> bool:
    """Return whether the remaining people are enough for a stage."""
    stage = terms.stages[number]
    groups = electorate.stages[number]
    elsewhere = {seat for seat, vote in tally.counted.items() if vote.stage != number}
    left = sorted(set[int]().union(*groups) - rejecting - elsewhere)
    return is_met(stage, [*map(len, fill(stage, groups, left))])
