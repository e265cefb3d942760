"""Remind people of waiting requests, and escalate them: each step once and in order, across restarts and processes.

Each step is one transaction under the lock of the workflow, with its entry on record, its event, and its notice to people.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from approvals.actions.locking import LockedRequest, lock_request
from approvals.actions.publishing import publish_handling
from approvals.db.due import for_each_due
from approvals.db.many import any_of
from approvals.models import ApprovalRequest, FollowUp
from approvals.outbound import outbox
from approvals.policy.follow_ups import Next, follow_ups
from approvals.policy.terms import People, Terms, terms_of
from approvals.policy.working_hours import moment_after
from approvals.queries.policy.duty.teams import hours_of
from approvals.states import Door


def schedule_follow_ups(request: ApprovalRequest) -> None:
    """Store when the first reminder or escalation step of a new request is due, if its terms have any and it waits."""
    terms = terms_of(request.terms)
    if request.pending and (steps := follow_ups(terms)):
        FollowUp.objects.create(
            request=request, due_at=_due_at(request, terms, steps[0])
        )


def due_follow_ups(now: Any) -> QuerySet[FollowUp]:
    """Return the due steps, including those of ended requests, whose rows are then deleted."""
    return FollowUp.objects.filter(due_at__lte=now)


def carry_out_follow_ups() -> None:
    """Carry out every due reminder and escalation step; locked ones are retried a second later."""
    for_each_due(due_follow_ups(Now()).order_by("due_at"), _carry_out)


def _carry_out(request_id: UUID) -> None:
    while _carry_out_next(request_id):
        pass


def _carry_out_next(request_id: UUID) -> bool:
    """Carry out the next step of a request if it is due; return False if there is nothing more to do now."""
    with transaction.atomic():
        locked = lock_request(request_id, wait=False)
        if locked is None:
            return False
        # Read under the lock of the workflow, under which alone these rows change.
        row = FollowUp.objects.filter(pk=request_id, due_at__lte=locked.now).first()
        if row is None:
            return False
        terms = terms_of(locked.request.terms)
        steps = follow_ups(terms)
        if not locked.request.pending or locked.overdue or row.done >= len(steps):
            row.delete()
            return False
        _publish(locked, steps[row.done], row.done + 1)
        row.done += 1
        if row.done == len(steps):
            row.delete()
            return False
        row.due_at = _due_at(locked.request, terms, steps[row.done])
        row.save(update_fields=["done", "due_at"])
    return True


def _publish(locked: LockedRequest, step: Next, number: int) -> None:
    request = locked.request
    record = {"step": number, "after_seconds": step.after, "to": _names(step.to)}
    publish_handling(step.event, request, record=record, actor=None, via=Door.SYSTEM)
    stream = outbox.stream_of(request.scope, locked.workflow.key)
    outbox.enqueue(
        step.event,
        stream=stream,
        data=outbox.request_data(request, locked.workflow) | record,
    )


def _due_at(request: ApprovalRequest, terms: Terms, step: Next) -> datetime:
    return moment_after(
        request.created_at,
        step.after,
        hours_of(step.to.teams) if terms.working_hours else [],
    )


def _names(to: People) -> list[str]:
    """Return the current names of a step's teams and people."""
    teams = (
        Group.objects.filter(pk__in=any_of(to.teams, int))
        .order_by("name")
        .values_list("name", flat=True)
    )
    people = (
        User.objects.filter(pk__in=any_of(to.people, int))
        .order_by("username")
        .values_list("username", flat=True)
    )
    return [*teams, *people]
