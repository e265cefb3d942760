"""The decision limits of people who gave grants: a grant ends for good once its giver has lost any of them."""

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
from approvals.queries.policy.scopes.matching import facts_of

#: For people who may not decide at all.
NOTHING = -1.0

#: The columns that scopes are compared with, and those needed for them.
_READ = (
    "workflow__source",
    "agent",
    "tool_name",
    "kind",
    "requested_by",
    "priority",
    "input",
)


def powers_of_givers(people: Collection[int] | None = None) -> dict[UUID, float]:
    """Return the largest amount that the giver of each active grant may decide, for requests like the grant's own.

    By the id of the grant; for grants of these people, or all. Infinite without a limit, NOTHING without the right. Only a
    person's own right counts: a delegate cannot give a grant.
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
    return {
        pk: _power(givers.get(giver, NOBODY), facts.get(request))
        for pk, giver, request in grants
    }


def _power(giver: Standing, facts: Facts | None) -> float:
    """Return the largest amount that someone may decide in their own right, for requests with these facts."""
    if rights.DECIDE not in giver.rights:
        return NOTHING
    if giver.reach is None:
        return inf
    scopes = [scope for scope in giver.reach.own if scope.may == May.DECIDE]
    fitting = [
        scope
        for scope in scopes
        if facts is None or match_from(scope.match).fits(facts)
    ]
    return max(
        (inf if scope.limit is None else scope.limit for scope in fitting),
        default=NOTHING,
    )


def _facts(requests: Collection[UUID]) -> Mapping[UUID, Facts]:
    """Return the facts of these requests for scope checks; pruned requests are missing."""
    if not requests:
        return {}
    rows = (
        ApprovalRequest.objects.filter(pk__in=requests)
        .select_related("workflow")
        .only(*_READ)
    )
    return {request.pk: facts_of(request) for request in rows}
