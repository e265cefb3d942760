"""Mails to one person about a request that is assigned to them, and when messages to a person are due."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from approvals.models import ApprovalRequest, OutboxEvent, Preferences
from approvals.outbound import outbox
from approvals.outbound.quiet_hours import may_leave_at, preferences_of_people
from approvals.states import Channel, Priority

#: The name in preferences for mails about requests assigned to a person.
ASSIGNED = f"{Channel.MAIL}:assigned"


def notify_person(name: str, request: ApprovalRequest, person: User) -> None:
    """Write a mail to one person about a request, regardless of rules; call this inside the transaction of the event."""
    preferences = (
        preferences_of_people({person.pk}).get(person.pk)
        if settings.HITL_MAIL and person.email
        else None
    )
    if (
        not settings.HITL_MAIL
        or not person.email
        or (preferences and ASSIGNED in preferences.muted)
    ):
        return
    row = OutboxEvent(
        channel=Channel.MAIL,
        target=f"mail:{person.pk}",
        lane="mail",
        next_attempt_at=due_for(preferences, request),
    )
    outbox.write_request_event(name, [row], request)


def due_for(preferences: Preferences | None, request: ApprovalRequest) -> Any:
    """Return when a message to a person is due: by the clock of the database, unless it is held until quiet hours end."""
    now = timezone.now()
    at = may_leave_at(preferences, now)
    return Now() if at <= now or request.priority == Priority.CRITICAL else at
