"""Requests that wait under terms with reminders and escalation, and a clock for these that tests move."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from approvals.actions.policy.duty import reminders
from approvals.models import ApprovalRequest, AuditEntry, FollowUp
from approvals.policy.terms import Terms
from tests.support.desk.requests import PAST, make_request, stored


def ask_under(terms: Terms, owner: User, *, at: datetime | None = None, **changes: Any) -> ApprovalRequest:
    """A request under these terms, asked at a moment, which may lie in the future."""
    request = make_request(owner, **changes)
    ApprovalRequest.objects.filter(pk=request.pk).update(
        terms=terms.document(), **({"created_at": at} if at is not None else {})
    )
    reminders.schedule_follow_ups(request := stored(request))
    return request


def walk_to(moment: datetime) -> None:
    """It is this moment: carry out everything that is due by then, as the sweep does."""
    while (due := FollowUp.objects.filter(due_at__lte=moment)).exists():
        due.update(due_at=PAST)
        reminders.carry_out_follow_ups()


def steps_of(request: ApprovalRequest) -> list[tuple[str, int]]:
    """The reminders and escalations on record, in order: the event and the number of the step."""
    entries = AuditEntry.objects.filter(request_id=request.pk, event__in=["request.reminded", "request.escalated"])
    return [(entry.event.partition(".")[2], entry.data["step"]) for entry in entries.order_by("id")]
