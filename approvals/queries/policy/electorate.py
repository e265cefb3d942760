"""Who may vote on a request: its groups, as far as these people may decide it at all, and who votes for whom is away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects

from approvals.access import permissions, standing_in
from approvals.access.scopes import Change
from approvals.access.standing import Standing, standings_of
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, Vote
from approvals.policy.absence import seats
from approvals.policy.terms import Group, Terms
from approvals.policy.votes import Electorate, Groups
from approvals.queries.policy.scopes import changes_of


def electorate_of(request: ApprovalRequest, terms: Terms, votes: Iterable[Vote] = ()) -> Electorate:
    """Return everyone who may vote on a request, in two statements; in more if scopes are compared with a changed input.

    One more says who of those who gave `votes` for someone else may still do so.
    """
    groups = [group for stage in terms.stages for group in stage.groups]
    members = _members_of({team for group in groups for team in group.teams})
    deciders = permissions.deciders_of(request, in_own_right=True)
    if all(group.people or group.teams for group in groups):
        named = {pk for group in groups for pk in group.people}.union(*members.values())
        deciders = deciders.filter(pk__in=any_of(named, int))
    may = set(deciders.values_list("pk", flat=True))
    change = _proposed([request]).get(request.pk)
    if change is not None:
        may = {pk for pk, person in _active(may).items() if _may_decide(person, request, change)}
    delegates = {vote.person_id for vote in votes if vote.for_id is not None}
    if delegates:
        deciders = permissions.deciders().filter(pk__in=any_of(delegates - request.interested, int))
        delegates = set(deciders.values_list("pk", flat=True))
    return Electorate(_grouped(terms, may, members), delegates)


def delegates_for(request: ApprovalRequest, absent: Collection[int]) -> set[int]:
    """Return who may decide a request and vote on it now for one of these people, because they are away."""
    away: dict[int, list[int]] = {}
    rows = standing_in.delegations().filter(person__in=any_of(absent, int)) if absent else ()
    for row in rows:
        if row.delegate_id is not None:
            away.setdefault(row.delegate_id, []).append(row.person_id)
    delegates = {person for person, others in away.items() if len(seats(person, others, request.interested)) > 1}
    if not delegates:
        return set()
    return set(permissions.deciders_of(request).filter(pk__in=any_of(delegates, int)).values_list("pk", flat=True))


def people_among(
    people: Collection[int], viewer: Standing | None, requests: Iterable[ApprovalRequest]
) -> dict[int, Standing]:
    """Return those of these people who are active, the viewer, and those for whom the viewer may vote, with their rights."""
    prefetch_related_objects([*requests], "workflow")
    known = _active({*people, *seats_of(viewer, requests)})
    return known if viewer is None else known | {viewer.pk: viewer}


def electorates_among(
    known: Mapping[int, Standing], requests: Mapping[ApprovalRequest, Terms]
) -> dict[Any, Electorate]:
    """Return which of these people may vote on these requests, by id of the request.

    In as many statements for many requests as for one. Someone who is not among them may be missing in the electorates.
    """
    teams = {
        team for terms in requests.values() for stage in terms.stages for group in stage.groups for team in group.teams
    }
    members, changes = _members_of(teams, among=known), _proposed(requests)
    return {
        request.pk: Electorate(
            _grouped(
                terms,
                {pk for pk, user in known.items() if _may_decide(user, request, changes.get(request.pk))},
                members,
            ),
            {pk for pk, user in known.items() if _may_stand_in(user, request)},
        )
        for request, terms in requests.items()
    }


def electorates_of(
    requests: Mapping[ApprovalRequest, Terms], votes: Mapping[UUID, Sequence[Vote]]
) -> dict[UUID, Electorate]:
    """Return the electorates by which these votes are counted, by id of the request, in as many statements for many as for one.

    Only a rejection makes people count who have not voted: without one, only those who have voted are looked at.
    """
    groups = [group for terms in requests.values() for stage in terms.stages for group in stage.groups]
    members = _members_of({team for group in groups for team in group.teams})
    rejected = {pk for pk, cast in votes.items() if any(not vote.approves for vote in cast)}
    anyone: set[int] = set()
    if any(_is_open(terms) for request, terms in requests.items() if request.pk in rejected):
        anyone = set(permissions.deciders().values_list("pk", flat=True))
    looked_at = {
        request: {pk for vote in votes[request.pk] for pk in (vote.person_id, vote.for_id) if pk is not None}
        | (_named_by(terms, members, anyone) | request.interested if request.pk in rejected else set())
        for request, terms in requests.items()
    }
    known = _active(set[int]().union(*looked_at.values()))
    changes = _proposed(requests)
    electorates = {}
    for request, terms in requests.items():
        people = [known[pk] for pk in looked_at[request] if pk in known]
        may = {user.pk for user in people if _may_decide(user, request, changes.get(request.pk))}
        delegates = {user.pk for user in people if _may_stand_in(user, request)}
        electorates[request.pk] = Electorate(_grouped(terms, may, members), delegates)
    return electorates


def _is_open(terms: Terms) -> bool:
    """Return whether anyone who may decide is in a group of these terms."""
    return any(not group.people and not group.teams for stage in terms.stages for group in stage.groups)


def _named_by(terms: Terms, members: Mapping[int, Set[int]], anyone: Set[int]) -> set[int]:
    """Return everyone who may be in a group of these terms; `anyone` is everyone who may decide."""
    groups = [group for stage in terms.stages for group in stage.groups]
    named = {pk for group in groups for pk in group.people}
    named = named.union(*(members[team] for group in groups for team in group.teams))
    return named | anyone if _is_open(terms) else named


def seats_of(viewer: Standing | None, requests: Iterable[ApprovalRequest]) -> set[int]:
    """Return for whom a viewer may vote on some of these requests, without the viewer."""
    if viewer is None:
        return set()
    return {seat for request in requests for seat in permissions.seats(viewer, request)[1:]}


def _active(people: Collection[int]) -> dict[int, Standing]:
    """Return the standing of each of these people who has an active account."""
    return {pk: standing for pk, standing in standings_of(people).items() if standing.is_active}


def _proposed(requests: Iterable[ApprovalRequest]) -> dict[UUID, Change]:
    """Return the changes that people vote on, by the id of the request, of those that a scope fits."""
    scoped = (each for each in requests if each.pending and each.proposal and each.scope_set_id is not None)
    return changes_of({request: (request.proposal or {})["input"] for request in scoped})


def _may_decide(viewer: Standing, request: ApprovalRequest, change: Change | None) -> bool:
    """Return whether someone may decide a request with the input that is voted on, and not only because others are away."""
    may = change is None or permissions.may_change_input(viewer, request, change)
    return may and permissions.may_decide(viewer, request) and permissions.decides_for(viewer, request, change) is None


def _may_stand_in(viewer: Standing, request: ApprovalRequest) -> bool:
    return permissions.decides_some(viewer) and not permissions.is_interested(viewer, request)


def _members_of(teams: Collection[int], among: Iterable[int] | None = None) -> dict[int, set[int]]:
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
    return [[_in_group(group, may, members) for group in stage.groups] for stage in terms.stages]


def _in_group(group: Group, may: Set[int], members: Mapping[int, Set[int]]) -> Set[int]:
    if not group.people and not group.teams:
        return may
    return may & set(group.people).union(*(members[team] for team in group.teams))
