"""Snoozed requests, which are hidden from a person's own inbox until a moment."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils import timezone

from approvals.access.standing import Standing
from approvals.db.prepared import Parameter
from approvals.models import Snooze
from approvals.states import Status

#: If more people than this snooze at the same time, the others do not share cached counts with them.
MANY = 1000


def _active(now: Parameter | None = None) -> QuerySet[Snooze]:
    return Snooze.objects.filter(until__gt=now or timezone.now())


def snoozed_by(
    person: int | Parameter, now: Parameter | None = None
) -> QuerySet[Snooze, Any]:
    """Return the ids of the requests hidden from the inbox of the person with this id, as a subquery."""
    return _active(now).filter(person=person).values("request")


def snoozes_of(viewer: Standing) -> tuple[int, datetime | None]:
    """Return how many waiting requests a person has snoozed, and when the first of them comes back."""
    snoozed = (
        _active()
        .filter(person=viewer.pk, request__status=Status.PENDING)
        .aggregate(Count("pk"), Min("until"))
    )
    return snoozed["pk__count"], snoozed["until__min"]


def snoozers() -> set[int]:
    """Return the ids of the people with snoozed requests, whose lists differ from others'."""
    return set(_active().values_list("person", flat=True).distinct()[:MANY])
