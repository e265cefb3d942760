"""The votes on requests, for display: voters, counted votes, people still needed, and the proposal."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.asking.digests import Digest
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, Vote
from approvals.models.actors import key_and_username
from approvals.policy import absence
from approvals.policy.terms import Terms, terms_of
from approvals.policy.votes import (
    Cast,
    Electorate,
    Tally,
    has_enough_people,
    missing,
    progress,
    seat_for,
)
from approvals.queries.policy.votes.electorate import (
    delegates_for,
    electorate_of,
    electorates_among,
    people_among,
    seats_of,
)
from approvals.queries.policy.votes.stages import (
    StageProgress,
    Voter,
    names_in,
    stages_of,
)
from approvals.states import APPROVING
from approvals.text.secrets import mask_text
from approvals.text.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVote:
    """The values of a vote, with masks in its comment."""

    pk: int
    person_id: int
    person_name: str
    for_name: str | None
    verdict: str
    approves: bool
    proposes: bool
    comment: str
    digest: str
    stage: int
    via: str
    door: str
    voted_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CastVote:
    """A stored vote. If it does not count, it was given on another input, or its voter has lost the right.

    Or it is `replaced`: it was given for an absent person for whom another vote counts, usually their own. `key` is the name of
    the API key that the voter used.
    """

    vote: ShownVote
    counts: bool
    other_input: bool
    voter: Voter
    #: The groups of its stage that its seat belongs to, in words.
    seat: str = ""
    key: str = ""
    replaced: bool = False

    @property
    def lost(self) -> bool:
        return not self.counts and not self.other_input and not self.replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """The votes on one request, and the electorate among voters and viewers."""

    pending: bool
    #: The ids of the people who run the agent, for whom no one votes.
    interested: frozenset[int]
    terms: Terms
    tally: Tally
    electorate: Electorate
    stages: Sequence[StageProgress]
    votes: Sequence[CastVote]
    #: The names of people that viewers may vote for, by id.
    absent: Mapping[int, str]

    @property
    def current(self) -> StageProgress | None:
        return None if self.tally.current is None else self.stages[self.tally.current]

    @property
    def words(self) -> str:
        """The progress in words: “1 of 2, finance missing”, with the number of the stage if there are several."""
        if self.current is None:
            return _("All votes are in")
        if len(self.stages) == 1:
            return self.current.words
        values = {
            "number": (self.tally.current or 0) + 1,
            "all": len(self.stages),
            "progress": self.current.words,
        }
        return _("Stage %(number)d of %(all)d: %(progress)s") % values

    def admits(self, person: Standing) -> bool:
        """Return whether a person among those looked up may vote now, or change their vote."""
        return self._seat(person) is not None

    def votes_for(self, person: Standing) -> str:
        """Return the name of the absent person that this person votes for now; empty if none."""
        return self.absent.get(self._seat(person) or 0, "")

    def _seat(self, person: Standing) -> int | None:
        seats = absence.seats(person.pk, person.away_for, self.interested)
        place = seat_for(self.terms, seats, self.tally, self.electorate)
        return place and place[0]

    def needs(self, person: Standing) -> bool:
        """Return whether it waits for the vote of this person."""
        return self.admits(person) and self.standing_vote_of(person) is None

    def waits_for_others(self, person: Standing) -> bool:
        """Return whether a person who decides requests has nothing to do here before the votes of others."""
        return self.pending and DECIDE in person.rights and not self.needs(person)

    def deciders(
        self, verdict: str, *, break_glass: bool | None = False
    ) -> list[Voter]:
        """Return the people whose votes made this verdict, if they are several."""
        approves = verdict in APPROVING
        deciders = [
            cast.voter
            for cast in self.votes
            if cast.counts and cast.vote.approves == approves
        ]
        return [] if break_glass or len(deciders) < 2 else deciders

    @property
    def look(self) -> Hashable:
        """A value that changes whenever the ballot looks different."""
        votes = [(cast.vote.pk, cast.vote.voted_at, cast.counts) for cast in self.votes]
        return self.words, tuple(votes)

    def vote_of(self, person: Standing) -> CastVote | None:
        """Return this person's vote, whether or not it counts."""
        return next(
            (cast for cast in self.votes if cast.vote.person_id == person.pk), None
        )

    def standing_vote_of(self, person: Standing) -> CastVote | None:
        """Return this person's counted vote while others are still needed."""
        cast = self.vote_of(person)
        return cast if cast is not None and cast.counts and self.pending else None


def casts_of(votes: Iterable[Vote]) -> list[Cast]:
    """Return stored votes in the form for counting."""
    return [
        Cast(vote.person_id, vote.approves, vote.stage, vote.digest, vote.for_id)
        for vote in votes
    ]


def votes_on(*ids: UUID) -> list[Vote]:
    """Return the votes on these requests, in order of time."""
    return list(Vote.objects.filter(request__in=ids).order_by("voted_at", "pk"))


def votes_by_request(ids: Iterable[UUID]) -> dict[UUID, list[Vote]]:
    """Return the votes on these requests by request, each in order of time."""
    votes: dict[UUID, list[Vote]] = {pk: [] for pk in ids}
    for vote in votes_on(*votes) if votes else ():
        votes[vote.request_id].append(vote)
    return votes


def ballots_of(
    requests: Iterable[ApprovalRequest], viewers: Iterable[Standing] = ()
) -> dict[UUID, Ballot]:
    """Return the ballots of those requests that are decided by votes; nothing is read if there are none.

    They say of each of these viewers whether their vote is needed.
    """
    terms = {
        request: terms_of(request.terms) for request in requests if request.takes_votes
    }
    if not terms:
        return {}
    votes = votes_by_request(request.pk for request in terms)
    cast = [vote for of_request in votes.values() for vote in of_request]
    voters = {
        pk for vote in cast for pk in (vote.person_id, vote.for_id) if pk is not None
    }
    viewers = list(viewers)
    known = people_among(voters, viewers, terms)
    displayed = _displayed({vote.person_id for vote in cast})
    electorates = electorates_among(known, terms)
    away = seats_of(viewers, terms)
    names = names_in(terms.values(), away)
    absent = {pk: names["person", pk] for pk in away if ("person", pk) in names}
    ballots = {}
    for request, of_request in terms.items():
        electorate = electorates[request.pk]
        tally = progress(
            of_request, casts_of(votes[request.pk]), electorate, request.voted_digest
        )
        seated = {
            seat: _voter(vote, displayed)
            for vote in votes[request.pk]
            for seat, counted in tally.counted.items()
            if (vote.person_id, vote.for_id) == (counted.person, counted.absent)
        }
        stages = stages_of(of_request, tally, names, seated)
        seats = {
            (number, seat): _(" or ").join(
                group.who
                for group, members in zip(
                    stage.groups, electorate.stages[number], strict=True
                )
                if seat in members and group.who
            )
            for number, stage in enumerate(stages)
            for seat in voters
        }
        ballots[request.pk] = Ballot(
            pending=request.pending,
            interested=request.interested,
            terms=of_request,
            tally=tally,
            electorate=electorate,
            stages=stages,
            votes=_cast_votes(request, votes[request.pk], tally, displayed, seats),
            absent=absent,
        )
    return ballots


def ballot_of(request: ApprovalRequest) -> Ballot | None:
    """Return the ballot of a request; None if it is not decided by votes."""
    return ballots_of([request]).get(request.pk)


def progress_of(requests: Iterable[ApprovalRequest]) -> dict[UUID, str]:
    """Return the progress of votes in words, for those waiting requests that are decided by votes."""
    ballots = ballots_of(request for request in requests if request.pending)
    return {pk: ballot.words for pk, ballot in ballots.items()}


def enough_may_vote(request: ApprovalRequest, terms: Terms) -> bool:
    """Return whether enough people may vote to approve a request on these terms."""
    votes = votes_on(request.pk)
    return has_enough_people(
        terms,
        casts_of(votes),
        electorate_of(request, terms, request.proposal, votes),
        request.voted_digest,
    )


def wanted_voters(request: ApprovalRequest) -> set[int] | None:
    """Return the ids of the people whose votes are wanted now; None if one person decides the request.

    The current delegates of absent people are included. A vote in someone's absence counts as the delegate's vote.
    """
    if not request.takes_votes:
        return None
    terms = terms_of(request.terms)
    votes = votes_on(request.pk)
    electorate = electorate_of(request, terms, request.proposal, votes)
    tally = progress(terms, casts_of(votes), electorate, request.voted_digest)
    if tally.current is None:
        return set()
    own = set[int]().union(*electorate.stages[tally.current]) - set(tally.counted)
    return (
        own | delegates_for(request, missing(terms, tally, electorate))
    ) - tally.voters


def _cast_votes(
    request: ApprovalRequest,
    votes: Sequence[Vote],
    tally: Tally,
    displayed: Mapping[tuple[int, str], str],
    seats: Mapping[tuple[int, int], str],
) -> list[CastVote]:
    """Return votes with whether they count: for the outcome as it was stored, before the outcome as of now."""
    counting = [
        vote
        for vote in votes
        if (vote.person_id in tally.voters if request.pending else vote.counted)
    ]
    counted = {vote.for_id or vote.person_id for vote in counting}
    return [
        CastVote(
            vote=_shown_vote(vote),
            counts=vote in counting or (vote.counted is None and not request.pending),
            other_input=vote.digest != request.voted_digest,
            replaced=vote not in counting and vote.for_id in counted,
            voter=_voter(vote, displayed),
            seat=seats.get((vote.stage, vote.for_id or vote.person_id), ""),
            key=visible(key_and_username(vote.person_name)[0]),
        )
        for vote in votes
    ]


def _shown_vote(vote: Vote) -> ShownVote:
    return ShownVote(
        pk=vote.pk,
        person_id=vote.person_id,
        person_name=vote.person_name,
        for_name=vote.for_name,
        verdict=vote.verdict,
        approves=vote.approves,
        proposes=vote.proposes,
        comment=mask_text(vote.comment),
        digest=vote.digest,
        stage=vote.stage,
        via=vote.via,
        door=vote.door,
        voted_at=vote.voted_at,
    )


def _displayed(people: Collection[int]) -> dict[tuple[int, str], str]:
    """Return the display names of these people, by id and username."""
    if not people:
        return {}
    rows = User.objects.filter(pk__in=any_of(people, int), is_active=True).values_list(
        "pk", "username", "first_name"
    )
    return {(pk, username): display_name for pk, username, display_name in rows}


def _voter(vote: Vote, displayed: Mapping[tuple[int, str], str]) -> Voter:
    """Return a voter; with the display name only if they still have the recorded username."""
    username = key_and_username(vote.person_name)[1]
    display_name = displayed.get((vote.person_id, username), "")
    comment = mask_text(vote.comment)
    return Voter(username=username, display_name=display_name, comment=comment)


def proposal(value: Any, digest: Digest, by: str) -> dict[str, Any]:
    """Return the stored form of a proposed input."""
    return {"input": value, "digest": digest.text, "salt": digest.salt, "by": by}
