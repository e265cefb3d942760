"""How far the people may decide who gave grants: a grant has ended for good once its giver has lost any of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from uuid import UUID

from approvals.access import rights
from approvals.access.standing import NOBODY, Standing, standings_of
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, Grant
from approvals.models.policy.scopes import May
from approvals.policy.documents import match_from
from approvals.policy.match import Facts
from approvals.queries.policy.scopes import facts_of

#: Of someone who may not decide at all.
NOTHING = -1.0

#: The columns that scopes are compared with, and the ones that these need.
_READ = ("workflow__source", "agent", "tool_name", "kind", "requested_by", "priority", "input")


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
    givers = standings_of({giver for _pk, giver, _request in grants})
    limited = {pk for pk, giver in givers.items() if giver.is_limited}
    facts = _facts({request for _pk, giver, request in grants if giver in limited})
    return {pk: _power(givers.get(giver, NOBODY), facts.get(request)) for pk, giver, request in grants}


def _power(giver: Standing, facts: Facts | None) -> float:
    """Return the largest amount that someone may decide in their own right, of requests of which this is known."""
    if not giver.holds(rights.DECIDE):
        return NOTHING
    if giver.reach is None:
        return inf
    scopes = [scope for scope in giver.reach.own if scope.may == May.DECIDE]
    fitting = [scope for scope in scopes if facts is None or match_from(scope.match).fits(facts)]
    return max((inf if scope.limit is None else scope.limit for scope in fitting), default=NOTHING)


def _facts(requests: Collection[UUID]) -> Mapping[UUID, Facts]:
    """Return what scopes are compared with of these requests; those that were pruned are missing."""
    if not requests:
        return {}
    rows = ApprovalRequest.objects.filter(pk__in=requests).select_related("workflow").only(*_READ)
    return {request.pk: facts_of(request) for request in rows}
