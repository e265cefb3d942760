"""Notification rules, and those for one person."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from approvals.models.subscriptions import NotificationRule
from approvals.states import Channel


def rules() -> QuerySet[NotificationRule]:
    """Return the notification rules with their recipients, newest first."""
    return NotificationRule.objects.select_related("person", "group").order_by("-pk")


def rules_for(user_id: int) -> QuerySet[NotificationRule]:
    """Return the active rules that mail this person."""
    audience = Q(person=user_id) | Q(group__user=user_id)
    return (
        NotificationRule.objects.filter(audience, active=True, route=Channel.MAIL)
        .distinct()
        .order_by("pk")
    )
