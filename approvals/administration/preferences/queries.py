"""The sessions of a person, and the browsers that notify them."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from approvals.models import PushSubscription
from approvals.models.people import PersonSession

#: Maximum number of sessions shown.
PAGE = 50


def sessions_of(person: User) -> list[PersonSession]:
    """Return a person's sessions that have not ended, newest first."""
    stored = Session.objects.filter(
        pk=OuterRef("session_key"), expire_date__gt=timezone.now()
    )
    return list(
        PersonSession.objects.filter(Exists(stored), person=person).order_by(
            "-started_at", "-pk"
        )[:PAGE]
    )


def subscriptions_of(person: User) -> QuerySet[PushSubscription]:
    """Return this person's subscribed browsers, newest first."""
    return PushSubscription.objects.filter(person=person).order_by("-pk")
