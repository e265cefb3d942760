"""Approver scopes for tests, made the way the product makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group, User

from approvals.access import permissions
from approvals.access.standing import Standing, standing_of, standings_of
from approvals.actions.policy.scope_index import compare_earlier_requests
from approvals.administration.scopes.actions import ScopeTerms, store_scope
from approvals.models import ApprovalRequest, ApproverScope
from approvals.states import Door


def make_scope(
    *people: User | Group, by: User, may: str = "decide", limit: float | None = None, **match: Any
) -> ApproverScope:
    """A scope of these people and teams, with which all requests were compared; `match` has the lists of its document."""
    terms = ScopeTerms(
        name=f"Scope {ApproverScope.objects.count() + 1}",
        match=match,
        may=may,
        limit=limit,
        people=[each for each in people if isinstance(each, User)],
        teams=[each for each in people if isinstance(each, Group)],
    )
    scope = store_scope(None, terms, by=by, via=Door.DASHBOARD)
    compare_earlier_requests()
    return scope


def again(person: User) -> User:
    """The person as the database has them now."""
    return User.objects.get(pk=person.pk)


def people_allowed(request: ApprovalRequest) -> tuple[set[str], set[str]]:
    """Usernames of those who may see a request and of those who may decide it, by the rights of each person, read one by one."""
    return _people_allowed(request, {person.pk: standing_of(person) for person in User.objects.all()})


def people_allowed_together(request: ApprovalRequest) -> tuple[set[str], set[str]]:
    """The same by rights that are read for everyone at once."""
    return _people_allowed(request, standings_of(User.objects.values_list("pk", flat=True)))


def _people_allowed(request: ApprovalRequest, standings: Mapping[int, Standing]) -> tuple[set[str], set[str]]:
    people = {person.username: standings[person.pk] for person in User.objects.all()}
    return (
        {name for name, standing in people.items() if permissions.may_see(standing, request)},
        {name for name, standing in people.items() if permissions.may_decide(standing, request)},
    )


def people_found(request: ApprovalRequest) -> tuple[set[str], set[str]]:
    """Usernames of those who may see a request and of those who may decide it, by the product's queries."""
    return (
        set(permissions.readers_of(request).values_list("username", flat=True)),
        set(permissions.deciders_of(request).values_list("username", flat=True)),
    )
