"""The people who may vote on a request: its groups, limited to people who may decide it, and delegates of absent people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects

from approvals.access import absence, permissions
from approvals.access.rights import DECIDE
from approvals.access.scopes import ChangedInput
from approvals.access.standing import Standing, standings_of
from approvals.db.many import any_of
from approvals.json_types import JsonMapping
from approvals.models import ApprovalRequest, Vote
from approvals.policy.absence import seats
from approvals.policy.terms import Terms, VoterGroup
from approvals.policy.votes import Electorate, Groups
from approvals.queries.policy.scopes.matching import changes_of


def electorate_of(
    request: ApprovalRequest,
    terms: Terms,
    proposal: JsonMapping | None,
    votes: Iterable[Vote] = (),
) -> Electorate:
    """Return everyone who may vote on a request with this `proposal`; None for the input that was asked.

    In two statements; more if scopes are compared with a changed input. One more says who of those who gave `votes` for
    someone else may still do so.
    """
    groups = [group for stage in terms.stages for group in stage.groups]
    members = _members_of({team for group in groups for team in group.teams})
    deciders = permissions.deciders_of(request, in_own_right=True)
    if all(group.people or group.teams for group in groups):
        named = {pk for group in groups for pk in group.people}.union(*members.values())
        deciders = deciders.filter(pk__in=any_of(named, int))
    may = set(deciders.values_list("pk", flat=True))
    change = _proposed({request: proposal}).get(request.pk)
    if change is not None:
        may = {
            pk
            for pk, person in _active(may).items()
            if _may_decide(person, request, change)
        }
    delegates = {vote.person_id for vote in votes if vote.for_id is not None}
    if delegates:
        deciders = permissions.deciders().filter(
            pk__in=any_of(delegates - request.interested, int)
        )
        delegates = set(deciders.values_list("pk", flat=True))
    return Electorate(_grouped(terms, may, members), delegates)


def electorates_under(terms: Sequence[Terms]) -> list[Electorate]:
    """Return who could vote on new requests on each of these terms, whatever their requesters and scopes; in two statements."""
    may = set(permissions.deciders().values_list("pk", flat=True))
    members = _members_of(
        {
            team
            for each in terms
            for stage in each.stages
            for group in stage.groups
            for team in group.teams
        }
    )
    return [Electorate(_grouped(each, may, members)) for each in terms]


def delegates_for(request: ApprovalRequest, absent: Collection[int]) -> set[int]:
    """Return the people who may now vote on a request on behalf of one of these absent people."""
    away: dict[int, list[int]] = {}
    rows = (
        absence.delegations().filter(person__in=any_of(absent, int)) if absent else ()
    )
    for row in rows:
        if row.delegate_id is not None:
            away.setdefault(row.delegate_id, []).append(row.person_id)
    delegates = {
        person
        for person, others in away.items()
        if len(seats(person, others, request.interested)) > 1
    }
    if not delegates:
        return set()
    return set(
        permissions.deciders_of(request)
        .filter(pk__in=any_of(delegates, int))
        .values_list("pk", flat=True)
    )


def people_among(
    people: Collection[int],
    viewers: Collection[Standing],
    requests: Collection[ApprovalRequest],
) -> dict[int, Standing]:
    """Return the standings of those of these people who are active, of the viewers, and of those the viewers may vote for."""
    prefetch_related_objects([*requests], "workflow")
    known = _active({*people, *seats_of(viewers, requests)})
    return known | {viewer.pk: viewer for viewer in viewers}


def electorates_among(
    known: Mapping[int, Standing], requests: Mapping[ApprovalRequest, Terms]
) -> dict[Any, Electorate]:
    """Return which of these people may vote on these requests, by id of the request.

    The number of statements does not depend on the number of requests. The electorates may lack people outside `known`.
    """
    teams = {
        team
        for terms in requests.values()
        for stage in terms.stages
        for group in stage.groups
        for team in group.teams
    }
    members = _members_of(teams, among=known)
    changes = _proposed({request: request.proposal for request in requests})
    return {
        request.pk: Electorate(
            _grouped(
                terms,
                {
                    pk
                    for pk, user in known.items()
                    if _may_decide(user, request, changes.get(request.pk))
                },
                members,
            ),
            {pk for pk, user in known.items() if _may_stand_in(user, request)},
        )
        for request, terms in requests.items()
    }


def electorates_of(
    requests: Mapping[ApprovalRequest, Terms], votes: Mapping[UUID, Sequence[Vote]]
) -> dict[UUID, Electorate]:
    """Return the electorates for counting these votes, by id of the request; the number of statements is constant.

    People who have not voted matter only after a rejection: without one, only those who have voted are examined.
    """
    groups = [
        group
        for terms in requests.values()
        for stage in terms.stages
        for group in stage.groups
    ]
    members = _members_of({team for group in groups for team in group.teams})
    rejected = {
        pk for pk, cast in votes.items() if any(not vote.approves for vote in cast)
    }
    anyone: set[int] = set()
    if any(
        _is_open(terms) for request, terms in requests.items() if request.pk in rejected
    ):
        anyone = set(permissions.deciders().values_list("pk", flat=True))
    looked_at = {
        request: {
            pk
            for vote in votes[request.pk]
            for pk in (vote.person_id, vote.for_id)
            if pk is not None
        }
        | (
            _named_by(terms, members, anyone) | request.interested
            if request.pk in rejected
            else set()
        )
        for request, terms in requests.items()
    }
    known = _active(set[int]().union(*looked_at.values()))
    changes = _proposed({request: request.proposal for request in requests})
    electorates = {}
    for request, terms in requests.items():
        people = [known[pk] for pk in looked_at[request] if pk in known]
        may = {
            user.pk
            for user in people
            if _may_decide(user, request, changes.get(request.pk))
        }
        delegates = {user.pk for user in people if _may_stand_in(user, request)}
        electorates[request.pk] = Electorate(_grouped(terms, may, members), delegates)
    return electorates


def _is_open(terms: Terms) -> bool:
    """Return whether these terms have a group for anyone who may decide."""
    return any(
        not group.people and not group.teams
        for stage in terms.stages
        for group in stage.groups
    )


def _named_by(
    terms: Terms, members: Mapping[int, Set[int]], anyone: Set[int]
) -> set[int]:
    """Return everyone who may be in a group of these terms; `anyone` is everyone who may decide."""
    groups = [group for stage in terms.stages for group in stage.groups]
    named = {pk for group in groups for pk in group.people}
    named = named.union(*(members[team] for group in groups for team in group.teams))
    return named | anyone if _is_open(terms) else named


def seats_of(
    viewers: Iterable[Standing], requests: Collection[ApprovalRequest]
) -> set[int]:
    """Return the people that viewers may vote for on some of these requests, without those viewers."""
    return {
        seat
        for viewer in viewers
        for request in requests
        for seat in permissions.seats(viewer, request)[1:]
    }


def _active(people: Collection[int]) -> dict[int, Standing]:
    """Return the standings of those of these people with an active account."""
    return {
        pk: standing
        for pk, standing in standings_of(people).items()
        if standing.is_active
    }


def _proposed(
    proposals: Mapping[ApprovalRequest, JsonMapping | None],
) -> dict[UUID, ChangedInput]:
    """Return the proposed changes being voted on, by the id of the request, for requests that a scope matches."""
    return changes_of(
        {
            request: proposal["input"]
            for request, proposal in proposals.items()
            if proposal and request.pending and request.scope_set_id is not None
        }
    )


def _may_decide(
    viewer: Standing, request: ApprovalRequest, change: ChangedInput | None
) -> bool:
    """Return whether someone may decide a request with the input being voted on, not only as a delegate."""
    may = change is None or permissions.may_change_input(viewer, request, change)
    return (
        may
        and permissions.may_decide(viewer, request)
        and permissions.decides_for(viewer, request, change) is None
    )


def _may_stand_in(viewer: Standing, request: ApprovalRequest) -> bool:
    return DECIDE in viewer.rights and not permissions.is_interested(viewer, request)


def _members_of(
    teams: Collection[int], among: Iterable[int] | None = None
) -> dict[int, set[int]]:
    """Return the ids of the members of these teams, by team."""
    members: dict[int, set[int]] = {team: set() for team in teams}
    if members:
        rows = User.groups.through._default_manager.filter(group__in=any_of(teams, int))
        if among is not None:
            rows = rows.filter(user__in=any_of([*among], int))
        for team, pk in rows.values_list("group", "user"):
            members[team].add(pk)
    return members


def _grouped(terms: Terms, may: Set[int], members: Mapping[int, Set[int]]) -> Groups:
    return [
        [_in_group(group, may, members) for group in stage.groups]
        for stage in terms.stages
    ]


def _in_group(
    group: VoterGroup, may: Set[int], members: Mapping[int, Set[int]]
) -> Set[int]:
    if not group.people and not group.teams:
        return may
    return may & set(group.people).union(*(members[team] for team in group.teams))
