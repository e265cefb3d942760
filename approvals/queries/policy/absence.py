"""Absences that a viewer may know, and their delegates."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from approvals.access import absence, permissions
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing, standings_of
from approvals.db.many import any_of
from approvals.models import Absence, ApprovalRequest, TeamSettings
from approvals.policy.terms import terms_of


def absences_seen_by(viewer: Standing) -> QuerySet[Absence]:
    """Return the absences that have not ended: all for administrators, otherwise one's own and those one stands in for."""
    rows = (
        Absence.objects.filter(until__gt=Now())
        .select_related("person", "delegate")
        .order_by("starts_at", "pk")
    )
    return (
        rows
        if permissions.may_administer(viewer)
        else rows.filter(Q(person=viewer.pk) | Q(delegate=viewer.pk))
    )


def default_delegate_of(person: User) -> User | None:
    """Return the default delegate of this person's first team with one other than themselves."""
    rows = TeamSettings.objects.filter(
        team__user=person, default_delegate__is_active=True
    )
    rows = (
        rows.exclude(default_delegate=person)
        .select_related("default_delegate")
        .order_by("team__name")
    )
    delegates = [
        row.default_delegate for row in rows if row.default_delegate is not None
    ]
    standings = standings_of({each.pk for each in delegates})
    return next(
        (each for each in delegates if DECIDE in standings[each.pk].rights),
        None,
    )


def delegates(person: User, by: User) -> QuerySet[User]:
    """Return the possible delegates of this person for an absence set by `by`."""
    return (
        permissions.deciders().exclude(pk__in={person.pk, by.pk}).order_by("username")
    )


def away_from(request: ApprovalRequest) -> list[Absence]:
    """Return the absences of people that this request waits for, with their delegates.

    These are its assignees, people named in its terms, and people named by a scope that matches it. The number of statements
    does not depend on the number of absences.
    """
    rows = list(
        absence.delegations().select_related("person", "delegate").order_by("pk")
    )
    if not rows:
        return []
    standings = standings_of({row.person_id for row in rows})
    groups = [
        group for stage in terms_of(request.terms).stages for group in stage.groups
    ]
    named = {person for group in groups for person in group.people}
    if teams := {team for group in groups for team in group.teams}:
        members = User.groups.through._default_manager.filter(
            group__in=any_of(teams, int)
        )
        named |= set(members.values_list("user", flat=True))
    return [
        row for row in rows if _waits_for(request, row, standings[row.person_id], named)
    ]


def _waits_for(
    request: ApprovalRequest, absence: Absence, person: Standing, named: Collection[int]
) -> bool:
    if not request.interested.isdisjoint({absence.person_id, absence.delegate_id}):
        return False
    if not permissions.may_close(person, request):
        return False
    return (
        absence.person_id == request.assigned_to_id
        or absence.person_id in named
        or person.is_limited
    )
