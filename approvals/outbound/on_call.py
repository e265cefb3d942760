"""Choose the recipients who are present: members on call, and delegates in place of absent people.

If no one is known to be on call or present, everyone is notified.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models.functions import Now

from approvals.db.many import any_of
from approvals.models.policy.absence import current_absences


def members_on_duty(
    members: Iterable[User], on_duty: frozenset[int] | None
) -> list[User]:
    """Return the members of a team who are on call, or all members if none is known to be."""
    everyone = list(members)
    return [
        person for person in everyone if on_duty and person.pk in on_duty
    ] or everyone


def in_place_of_absent(people: Iterable[User]) -> list[User]:
    """Return these people with delegates in place of those who are away; all of them if no one would be left."""
    everyone = list(people)
    if not everyone:
        return []
    absences = current_absences(Now()).filter(
        person__in=any_of({person.pk for person in everyone}, int)
    )
    away = {
        absence.person_id: absence.delegate
        for absence in absences.select_related("delegate")
    }
    here = [away.get(person.pk, person) for person in everyone]
    active = [person for person in here if person is not None and person.is_active]
    return list({person.pk: person for person in active or everyone}.values())
