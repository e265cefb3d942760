"""Set absences and delegates, without the checks of the action."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.models import Absence

DAY = timedelta(days=1)


def away(
    person: User, delegate: User | None = None, *, since: timedelta = DAY, for_: timedelta = DAY, reason: str = ""
) -> Absence:
    """This person is away: since so long ago, for so long from now on."""
    now = timezone.now()
    return Absence.objects.create(
        person=person, delegate=delegate, starts_at=now - since, until=now + for_, reason=reason,
        set_by_id=person.pk, set_by_name=person.username,
    )  # fmt: skip
