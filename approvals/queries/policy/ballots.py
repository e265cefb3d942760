"""The votes on requests, as people and programs are shown them: who has voted, what counts, and who is missing."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, Vote
from approvals.models.actors import key_and_username
from approvals.policy.terms import Group, Stage, Terms, terms_of
from approvals.policy.votes import Cast, Electorate, Tally, has_enough_people, missing, progress, seat_for
from approvals.queries.policy.electorate import (
    delegates_for,
    electorate_of,
    electorates_among,
    people_among,
    seats_of,
)
from approvals.states import ASKS
from approvals.text.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """How many approvals a group has of those it needs; `who` names its people, empty for anyone who may decide."""

    who: str
    votes: int
    needed: int

    @property
    def missing(self) -> bool:
        return self.votes < self.needed

    @property
    def words(self) -> str:
        return _("%(votes)d of %(needed)d") % {"votes": self.votes, "needed": self.needed}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgress:
    """A stage with its groups, joined by *or* if `any`; `current` is the one that takes votes."""

    groups: Sequence[GroupProgress]
    any: bool
    met: bool
    current: bool

    @property
    def who(self) -> str:
        """Who is missing, in words; empty for anyone who may decide."""
        missing = [group.who for group in self.groups if group.missing]
        if not all(missing):
            return ""
        return (_(" or ") if self.any else _(" and ")).join(missing)

    @property
    def words(self) -> str:
        """How far it is: “1 of 2, finance missing”."""
        if self.any and len(self.groups) > 1:
            return _(" or ").join(f"{group.who} {group.words}".strip() for group in self.groups)
        votes, needed = sum(group.votes for group in self.groups), sum(group.needed for group in self.groups)
        values = {"votes": votes, "needed": needed, "who": self.who}
        if not self.who:
            return _("%(votes)d of %(needed)d") % values
        return _("%(votes)d of %(needed)d, %(who)s missing") % values


@dataclass(frozen=True, slots=True, kw_only=True)
class CastVote:
    """A stored vote. One that does not count was given on another input, or its voter has lost the right.

    Or it is `replaced`: it was given for someone who was away, for whom another vote counts, as a rule their own.
    `username` and `display_name` are those of who gave it, and `key` is the name of the API key with which they did.
    """

    vote: Vote
    counts: bool
    other_input: bool
    username: str
    display_name: str = ""
    key: str = ""
    replaced: bool = False

    @property
    def lost(self) -> bool:
        return not self.counts and not self.other_input and not self.replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """The votes on one request for one viewer, who may be no one."""

    request: ApprovalRequest
    terms: Terms
    tally: Tally
    electorate: Electorate
    stages: Sequence[StageProgress]
    votes: Sequence[CastVote]
    #: The names of the people for whom the viewer may vote, by id.
    absent: Mapping[int, str]

    @property
    def current(self) -> StageProgress | None:
        return None if self.tally.current is None else self.stages[self.tally.current]

    @property
    def words(self) -> str:
        """How far it is, in words: “1 of 2, finance missing”, with the number of the stage if there are several."""
        if self.current is None:
            return _("All votes are in")
        if len(self.stages) == 1:
            return self.current.words
        values = {"number": (self.tally.current or 0) + 1, "all": len(self.stages), "progress": self.current.words}
        return _("Stage %(number)d of %(all)d: %(progress)s") % values

    def admits(self, person: Standing) -> bool:
        """Return whether someone among those who were looked up may vote now, or change their vote."""
        return self._seat(person) is not None

    def votes_for(self, person: Standing) -> str:
        """Return the name of the one who is away and for whom this person votes now; empty if they do not, or as themselves."""
        return self.absent.get(self._seat(person) or 0, "")

    def _seat(self, person: Standing) -> int | None:
        seats = permissions.seats(person, self.request)
        place = seat_for(self.terms, seats, self.tally, self.electorate)
        return place and place[0]

    @property
    def look(self) -> Hashable:
        """Changes whenever the ballot looks different."""
        votes = [(cast.vote.pk, cast.vote.voted_at, cast.counts) for cast in self.votes]
        return self.words, tuple(votes)

    def vote_of(self, person: Standing) -> CastVote | None:
        """Return the vote that this person gave, whether or not it counts."""
        return next((cast for cast in self.votes if cast.vote.person_id == person.pk), None)

    def standing_vote_of(self, person: Standing) -> CastVote | None:
        """Return the vote of this person that counts while others are awaited."""
        cast = self.vote_of(person)
        return cast if cast is not None and cast.counts and self.request.pending else None


def takes_votes(request: ApprovalRequest) -> bool:
    """Return whether a request is decided by votes."""
    return request.kind not in ASKS and bool(request.terms) and bool(request.terms.get("stages"))


def casts_of(votes: Iterable[Vote]) -> list[Cast]:
    """Return stored votes as they are counted."""
    return [Cast(vote.person_id, vote.approves, vote.stage, vote.digest, vote.for_id) for vote in votes]


def votes_on(*ids: UUID) -> list[Vote]:
    """Return the votes on these requests, in order of time."""
    return list(Vote.objects.filter(request__in=ids).order_by("voted_at", "pk"))


def votes_by_request(ids: Iterable[UUID]) -> dict[UUID, list[Vote]]:
    """Return the votes on these requests, those on each in order of time."""
    votes: dict[UUID, list[Vote]] = {pk: [] for pk in ids}
    for vote in votes_on(*votes) if votes else ():
        votes[vote.request_id].append(vote)
    return votes


def ballots_of(requests: Iterable[ApprovalRequest], viewer: Standing | None = None) -> dict[UUID, Ballot]:
    """Return the ballots of those requests that are decided by votes; nothing is read if none of them is."""
    terms = {request: terms_of(request.terms) for request in requests if takes_votes(request)}
    if not terms:
        return {}
    votes = votes_by_request(request.pk for request in terms)
    cast = [vote for of_request in votes.values() for vote in of_request]
    voters = {pk for vote in cast for pk in (vote.person_id, vote.for_id) if pk is not None}
    known = people_among(voters, viewer, terms)
    displayed = _displayed({vote.person_id for vote in cast})
    electorates = electorates_among(known, terms)
    away = seats_of(viewer, terms)
    names = _names_of(terms.values(), away)
    absent = {pk: names["person", pk] for pk in away if ("person", pk) in names}
    ballots = {}
    for request, of_request in terms.items():
        electorate = electorates[request.pk]
        tally = progress(of_request, casts_of(votes[request.pk]), electorate, request.voted_digest)
        ballots[request.pk] = Ballot(
            request=request,
            terms=of_request,
            tally=tally,
            electorate=electorate,
            stages=stages_of(of_request, tally, names),
            votes=_cast_votes(request, votes[request.pk], tally, displayed),
            absent=absent,
        )
    return ballots


def ballot_of(request: ApprovalRequest, viewer: Standing | None = None) -> Ballot | None:
    """Return the ballot of a request; None if it is not decided by votes."""
    return ballots_of([request], viewer).get(request.pk)


def progress_of(requests: Iterable[ApprovalRequest]) -> dict[UUID, str]:
    """Return how far the votes are on those waiting requests that are decided by them, in words."""
    ballots = ballots_of(request for request in requests if request.pending)
    return {pk: ballot.words for pk, ballot in ballots.items()}


def enough_may_vote(request: ApprovalRequest, terms: Terms) -> bool:
    """Return whether there are enough people to approve a request on these terms."""
    votes = votes_on(request.pk)
    return has_enough_people(terms, casts_of(votes), electorate_of(request, terms, votes), request.voted_digest)


def wanted_voters(request: ApprovalRequest) -> set[int] | None:
    """Return the ids of the people whose vote is wanted now; None if one person decides the request.

    With those who may vote for one of them who is away. Whoever has voted in someone's absence has voted.
    """
    if not takes_votes(request):
        return None
    terms = terms_of(request.terms)
    votes = votes_on(request.pk)
    electorate = electorate_of(request, terms, votes)
    tally = progress(terms, casts_of(votes), electorate, request.voted_digest)
    if tally.current is None:
        return set()
    own = set[int]().union(*electorate.stages[tally.current]) - set(tally.counted)
    return (own | delegates_for(request, missing(terms, tally, electorate))) - tally.voters


def _cast_votes(
    request: ApprovalRequest, votes: Sequence[Vote], tally: Tally, displayed: Mapping[tuple[int, str], str]
) -> list[CastVote]:
    """Return votes with whether they count: for the outcome as it was stored then, before it as things are now."""
    counting = [vote for vote in votes if (vote.person_id in tally.voters if request.pending else vote.counted)]
    seats = {vote.for_id or vote.person_id for vote in counting}
    return [
        CastVote(
            vote=vote,
            counts=vote in counting or (vote.counted is None and not request.pending),
            other_input=vote.digest != request.voted_digest,
            replaced=vote not in counting and vote.for_id in seats,
            **_names_of_voter(vote, displayed),
        )
        for vote in votes
    ]


def _displayed(people: Collection[int]) -> dict[tuple[int, str], str]:
    """Return the display names of these people, each by their id and username."""
    if not people:
        return {}
    rows = User.objects.filter(pk__in=any_of(people, int), is_active=True).values_list("pk", "username", "first_name")
    return {(pk, username): display_name for pk, username, display_name in rows}


def _names_of_voter(vote: Vote, displayed: Mapping[tuple[int, str], str]) -> dict[str, str]:
    """Return the names of who gave a vote; the display name only if they still have the username that is on record."""
    key, username = key_and_username(vote.person_name)
    display_name = displayed.get((vote.person_id, username), "")
    return {"username": username, "display_name": display_name, "key": visible(key)}


def stages_of(terms: Terms, tally: Tally, names: Mapping[Any, str]) -> list[StageProgress]:
    """Return how far each stage is."""
    return [
        StageProgress(
            groups=_groups(stage, tally.filled[number], names),
            any=stage.any,
            met=tally.current is None or number < tally.current,
            current=number == tally.current,
        )
        for number, stage in enumerate(terms.stages)
    ]


def _groups(stage: Stage, filled: Sequence[int], names: Mapping[Any, str]) -> list[GroupProgress]:
    return [
        GroupProgress(who=who_in(group, names), votes=votes, needed=group.votes)
        for group, votes in zip(stage.groups, filled, strict=True)
    ]


def who_in(group: Group, names: Mapping[Any, str]) -> str:
    """Return the people of a group in words; empty for anyone who may decide."""
    members = [*(("team", pk) for pk in group.teams), *(("person", pk) for pk in group.people)]
    return _(" or ").join(names.get(member) or _("someone removed") for member in members)


def names_for(terms: Terms) -> dict[Any, str]:
    return _names_of([terms])


def _names_of(terms: Iterable[Terms], others: Iterable[int] = ()) -> dict[Any, str]:
    """Return the names of the people and teams in terms, and of other people, by what they are and id."""
    groups = [group for each in terms for stage in each.stages for group in stage.groups]
    teams, people = ({pk for group in groups for pk in getattr(group, kind)} for kind in ("teams", "people"))
    people |= {*others}
    names: dict[Any, str] = {}
    if teams:
        named = Team.objects.filter(pk__in=any_of(teams, int)).values_list("pk", "name")
        names |= {("team", pk): visible(name) for pk, name in named}
    if people:
        users = User.objects.filter(pk__in=any_of(people, int)).values_list("pk", "username")
        names |= {("person", pk): visible(name) for pk, name in users}
    return names
