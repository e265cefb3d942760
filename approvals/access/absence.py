"""Decide on behalf of absent people: docs/how-to/delegate-while-away.md.

A delegate gets the absent person's scopes, teams and named votes, but no right that they do not hold themselves. It is not
transitive: a delegate's delegate gets only the rights that are the delegate's own.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import OuterRef, Q, QuerySet
from django.db.models.functions import Now

from approvals.access import rights
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import Absence
from approvals.models.policy.absence import current_absences


def delegations() -> QuerySet[Absence]:
    """Return current absences with a delegate, of people who may decide."""
    decides = Q(person__is_superuser=True) | rights.holds(rights.DECIDE, "person")
    return current_absences(Now()).filter(
        decides, person__is_active=True, delegate__is_active=True
    )


def absences_with(delegate: OuterRef | Parameter) -> QuerySet[Absence]:
    """Return current absences with this delegate, whether or not they delegate any decisions."""
    return current_absences(Now()).filter(delegate=delegate)


#: The absent people whose delegate is this person.
_AWAY: Prepared[tuple[int, int]] = Prepared(
    lambda: (
        delegations()
        .filter(delegate__in=any_of(Parameter("delegates", Values()), int))
        .order_by("person")
        .values_list("delegate", "person")
    )
)


def away_for(delegates: Collection[int]) -> dict[int, list[int]]:
    """Return the absent people of each of these delegates, in one statement; delegates of no one are missing."""
    away: dict[int, list[int]] = {}
    for delegate, person in _AWAY.all(delegates=sorted(delegates)):
        away.setdefault(delegate, []).append(person)
    return away
