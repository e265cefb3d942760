"""Approver scopes for tests, made the way the product makes them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User

from approvals.access import permissions
from approvals.actions.policy.scoping import compare_earlier_requests
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
    """The person as the next call reads them: rights and scopes are read once for each call."""
    return User.objects.get(pk=person.pk)


def people_allowed(request: ApprovalRequest) -> tuple[set[str], set[str]]:
    """Who may see a request, and who may decide it, by the rights of each person, read for each alone."""
    return _people_allowed(request, [again(person) for person in User.objects.all()])


def people_allowed_together(request: ApprovalRequest) -> tuple[set[str], set[str]]:
    """The same by rights that are read for everyone at once."""
    people = list(User.objects.all())
    permissions.load_permissions(people)
    return _people_allowed(request, people)


def _people_allowed(request: ApprovalRequest, people: list[User]) -> tuple[set[str], set[str]]:
    return (
        {person.username for person in people if permissions.may_see(person, request)},
        {person.username for person in people if permissions.may_decide(person, request)},
    )


def people_found(request: ApprovalRequest) -> tuple[set[str], set[str]]:
    """Who may see a request, and who may decide it, as the database finds them: for mentions, votes and warnings."""
    return (
        set(permissions.readers_of(request).values_list("username", flat=True)),
        set(permissions.deciders_of(request).values_list("username", flat=True)),
    )
