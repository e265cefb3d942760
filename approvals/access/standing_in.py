"""For whom a person decides while they are away: docs/how-to/out-of-office.md.

A delegate gets what the absent person may decide through scopes, teams and their name, and no right that they do not hold
themselves. It never goes on: who stands in for a delegate gets only what is the delegate's own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.contrib.auth.models import User
from django.db.models import BigAutoField, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from approvals.access import rights
from approvals.db.many import any_of
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


def absences_of(delegates: Collection[int]) -> QuerySet[Absence]:
    """Return the absences that are now and have one of these delegates, whether or not they hand anything on."""
    return current_absences(Now()).filter(delegate__in=any_of(delegates, int))


_AWAY: Prepared[int] = Prepared(
    lambda: (
        delegations()
        .filter(delegate=Parameter("delegate", BigAutoField()))
        .order_by("person")
        .values_list("person", flat=True)
    )
)


def away_for(user: User) -> Sequence[int]:
    """Return the ids of the people for whom this user stands in; read once for each `User` that is read."""
    away: Sequence[int] | None = user.__dict__.get("_away")
    if away is None:
        away = user.__dict__["_away"] = _AWAY.all(delegate=user.pk)
    return away


def away_for_each(users: Collection[int]) -> dict[int, list[int]]:
    """Return for whom each of these users stands in, in one statement; those who do for no one are missing."""
    away: dict[int, list[int]] = {}
    rows = delegations().filter(delegate__in=any_of(users, int)).order_by("person").values_list("delegate", "person")
    for delegate, person in rows:
        if delegate is not None:
            away.setdefault(delegate, []).append(person)
    return away


def remember(user: User, *, stands_in: bool) -> None:
    """Let calls go by this, which was just read: for most people, there is nothing to look up."""
    if not stands_in:
        user.__dict__["_away"] = ()


def forget(user: User) -> None:
    """Read again for whom a user stands in, if it was anyone: a delegation that has ended must not count."""
    if user.__dict__.get("_away"):
        del user.__dict__["_away"]
