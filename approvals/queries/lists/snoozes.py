"""What people have snoozed: hidden from their own inbox until a moment."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Count, Min, QuerySet
from django.utils import timezone

from approvals.access.standing import Standing
from approvals.db.prepared import Parameter
from approvals.models import Snooze
from approvals.states import Status

#: More people who snooze at the same time than this do not share what is counted for others.
MANY = 1000


def _active(now: Parameter | None = None) -> QuerySet[Snooze]:
    return Snooze.objects.filter(until__gt=now or timezone.now())


def snoozed_by(person: int | Parameter, now: Parameter | None = None) -> QuerySet[Snooze, Any]:
    """Return the ids of the requests that are hidden from the inbox of the person with this id, as a subquery."""
    return _active(now).filter(person=person).values("request")


def snoozes_of(viewer: Standing) -> tuple[int, datetime | None]:
    """Return how many waiting requests a person has snoozed, and when the first of them comes back."""
    snoozed = _active().filter(person=viewer.pk, request__status=Status.PENDING).aggregate(Count("pk"), Min("until"))
    return snoozed["pk__count"], snoozed["until__min"]


def snoozers() -> set[int]:
    """Return the ids of the people who have snoozed anything: they do not see the same list as others."""
    return set(_active().values_list("person", flat=True).distinct()[:MANY])
