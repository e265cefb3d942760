"""How far the people may decide who gave grants: a grant has ended for good once its giver has lost any of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from uuid import UUID

from django.contrib.auth.models import User

from approvals.access import permissions, rights
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, ApproverScope, Grant
from approvals.models.policy.scopes import May
from approvals.policy.documents import match_from
from approvals.policy.match import Facts, Match
from approvals.queries.policy.scopes import facts_of

#: Of someone who may not decide at all.
NOTHING = -1.0

#: The columns that scopes are compared with, and the ones that these need.
_READ = ("workflow__source", "agent", "tool_name", "kind", "requested_by", "priority", "input")


@dataclass(frozen=True, slots=True)
class _Scope:
    match: Match
    limit: float


def powers_of_givers(people: Collection[int] | None = None) -> dict[UUID, float]:
    """Return the largest amount that the giver of each live grant may decide, of requests like the one it was given with.

    By the id of the grant; of those that these people gave, or of all. Infinite without a limit, NOTHING without the right. Only
    what someone may decide in their own right counts: a grant is never given for someone who is away.
    """
    live = Grant.objects.filter(ended_at=None)
    if people is not None:
        live = live.filter(given_by_id__in=any_of(people, int))
    grants = list(live.values_list("pk", "given_by_id", "request_id"))
    if not grants:
        return {}
    users = list(User.objects.filter(pk__in=any_of({giver for _pk, giver, _request in grants}, int), is_active=True))
    permissions.load_permissions(users)
    givers = {user.pk: user for user in users if user.has_perm(rights.DECIDE)}
    limited = {pk for pk, user in givers.items() if permissions.is_limited(user)}
    scopes = _scopes_of(limited)
    facts = _facts({request for _pk, giver, request in grants if giver in limited})
    powers = {}
    for pk, giver, request in grants:
        if giver in limited:
            powers[pk] = _largest(scopes.get(giver, ()), facts.get(request))
        else:
            powers[pk] = inf if giver in givers else NOTHING
    return powers


def _scopes_of(people: Collection[int]) -> dict[int, list[_Scope]]:
    """Return the scopes with which each of these people may decide."""
    if not people:
        return {}
    rows = ApproverScope.objects.filter(may=May.DECIDE).values_list("pk", "match", "limit")
    known = {pk: _Scope(match_from(match), inf if limit is None else limit) for pk, match, limit in rows}
    named: dict[int, set[int]] = {pk: set() for pk in people}
    for through, person in ((ApproverScope.people.through, "user"), (ApproverScope.teams.through, "group__user")):
        rows_of = through._default_manager.filter(**{f"{person}__in": any_of(people, int)})
        for pk, scope in rows_of.values_list(person, "approverscope"):
            named[pk].add(scope)
    return {pk: [known[scope] for scope in scopes if scope in known] for pk, scopes in named.items()}


def _facts(requests: Collection[UUID]) -> Mapping[UUID, Facts]:
    """Return what scopes are compared with of these requests; those that were pruned are missing."""
    if not requests:
        return {}
    rows = ApprovalRequest.objects.filter(pk__in=requests).select_related("workflow").only(*_READ)
    return {request.pk: facts_of(request) for request in rows}


def _largest(scopes: Sequence[_Scope], facts: Facts | None) -> float:
    return max((scope.limit for scope in scopes if facts is None or scope.match.fits(facts)), default=NOTHING)
