"""Who may vote on a request: its groups, as far as these people may decide it at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from django.contrib.auth.models import User
from django.db.models import prefetch_related_objects

from approvals.access import permissions
from approvals.access.permissions import Person
from approvals.db.many import any_of
from approvals.models import ApprovalRequest
from approvals.policy.terms import Group, Terms
from approvals.policy.votes import Electorate
from approvals.queries.policy.proposals import as_proposed


def electorate_of(request: ApprovalRequest, terms: Terms) -> Electorate:
    """Return everyone who may vote on a request, in two statements, or three if its amount was changed."""
    groups = [group for stage in terms.stages for group in stage.groups]
    members = _members_of({team for group in groups for team in group.teams})
    deciders = permissions.deciders_of(request)
    if all(group.people or group.teams for group in groups):
        named = {pk for group in groups for pk in group.people}.union(*members.values())
        deciders = deciders.filter(pk__in=any_of(named, int))
    may = set(deciders.values_list("pk", flat=True))
    proposed = as_proposed(request)
    if proposed.amount != request.amount:
        may &= set(permissions.deciders_of(proposed).filter(pk__in=any_of(may, int)).values_list("pk", flat=True))
    return _grouped(terms, may, members)


def electorates_among(
    people: Collection[int], viewer: Person | None, requests: Mapping[ApprovalRequest, Terms]
) -> dict[Any, Electorate]:
    """Return who of these people, and whether the viewer, may vote on each of these requests, by its id.

    In as many statements for many requests as for one. Someone who is not among them may be missing in the electorates.
    """
    prefetch_related_objects([*requests], "workflow")
    known: dict[int, Person] = {user.pk: user for user in _with_rights(people)}
    if viewer is not None and viewer.pk is not None:
        known[viewer.pk] = viewer
    teams = {
        team for terms in requests.values() for stage in terms.stages for group in stage.groups for team in group.teams
    }
    members = _members_of(teams, among=known)
    return {
        request.pk: _grouped(terms, {pk for pk, user in known.items() if _may_decide(user, request)}, members)
        for request, terms in requests.items()
    }


def _with_rights(people: Collection[int]) -> list[User]:
    users = list(User.objects.filter(pk__in=any_of(people, int), is_active=True)) if people else []
    if users:
        permissions.load_permissions(users)
    return users


def _may_decide(user: Person, request: ApprovalRequest) -> bool:
    proposed = as_proposed(request)
    same = proposed.amount == request.amount
    return permissions.may_decide(user, request) and (
        same or permissions.may_change_amount(user, request, proposed.amount)
    )


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


def _grouped(terms: Terms, may: Set[int], members: Mapping[int, Set[int]]) -> Electorate:
    return [[_in_group(group, may, members) for group in stage.groups] for stage in terms.stages]


def _in_group(group: Group, may: Set[int], members: Mapping[int, Set[int]]) -> Set[int]:
    if not group.people and not group.teams:
        return may
    return may & set(group.people).union(*(members[team] for team in group.teams))
