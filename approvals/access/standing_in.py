"""For whom a person decides while they are away: docs/how-to/out-of-office.md.

A delegate gets what the absent person may decide through scopes, teams and their name, and no right that they do not hold
themselves. It never goes on: who stands in for a delegate gets only what is the delegate's own.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import OuterRef, Q, QuerySet
from django.db.models.functions import Now

from approvals.access import rights
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.models import Absence
from approvals.models.policy.absence import current_absences


def delegations() -> QuerySet[Absence]:
    """Return the absences that are now and have a delegate, of people who may decide."""
    decides = Q(person__is_superuser=True) | rights.holds(rights.DECIDE, "person")
    return current_absences(Now()).filter(decides, person__is_active=True, delegate__is_active=True)


def absences_with(delegate: OuterRef | Parameter) -> QuerySet[Absence]:
    """Return the absences that are now and have this delegate, whether or not they hand anything on."""
    return current_absences(Now()).filter(delegate=delegate)


_AWAY: Prepared[tuple[int, int]] = Prepared(
    lambda: (
        delegations()
        .filter(delegate__in=any_of(Parameter("delegates", Values()), int))
        .order_by("person")
        .values_list("delegate", "person")
    )
)


def away_for(delegates: Collection[int]) -> dict[int, list[int]]:
    """Return for whom each of these users stands in, in one statement; those who do for no one are missing."""
    away: dict[int, list[int]] = {}
    for delegate, person in _AWAY.all(delegates=sorted(delegates)):
        away.setdefault(delegate, []).append(person)
    return away
