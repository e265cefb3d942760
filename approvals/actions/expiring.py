"""Expire requests: the default response of a question becomes its answer, or the run is stopped."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from approvals.actions import publishing, rows
from approvals.actions.ending import end_request
from approvals.actions.locking import LockedRequest, lock_request
from approvals.asking.answers import ABSENT, Answer
from approvals.models import Workflow
from approvals.states import PROGRAMS, Door, Status, Verdict, WorkflowState

#: Recorded untranslated, as the comment on the other pending requests of a stopped run.
HALTED = (
    "No one decided another request before its deadline, so the policy stopped the run."
)


def expire(request_id: UUID) -> bool:
    """Expire a request; return False if it is not overdue or has ended before."""
    with transaction.atomic():
        locked = lock_request(request_id)
        return locked is not None and expire_if_overdue(locked)


def expire_free(request_ids: Iterable[UUID]) -> set[UUID]:
    """Expire the overdue ones of these requests, in one commit; return their ids.

    Requests that another transaction has locked are skipped.
    """
    with transaction.atomic():
        free = (lock_request(request_id, wait=False) for request_id in request_ids)
        return {
            locked.request.pk
            for locked in free
            if locked is not None and expire_if_overdue(locked)
        }


def expire_if_overdue(locked: LockedRequest) -> bool:
    """Expire a locked request if it is overdue, with its default response as the answer; return whether it was.

    If its terms say so, stop the run: cancel its other pending requests and end the workflow.
    """
    request = locked.request
    if locked.overdue:
        default = request.default_response if request.has_default else ABSENT
        end_request(
            locked, Answer(Verdict.EXPIRE, answer=default), by=None, via=Door.DEADLINE
        )
        if request.halted:
            _halt(locked.workflow)
        return True
    return False


def _halt(workflow: Workflow) -> None:
    """Stop a run whose workflow is locked. The chats stop a turn, and its workflow ends with it."""
    for request_id in (
        workflow.requests.filter(status=Status.PENDING)
        .order_by("pk")
        .values_list("pk", flat=True)
    ):
        locked = lock_request(request_id)
        assert locked is not None
        end_request(
            locked, Answer(Verdict.CANCEL, comment=HALTED), by=None, via=Door.DEADLINE
        )
    if workflow.source in PROGRAMS:
        none = {"urgency": None, "suspended_at": None}
        rows.END_WORKFLOW.run(
            pk=workflow.pk,
            state=WorkflowState.CANCELLED,
            ended_at=timezone.now(),
            **none,
        )
        publishing.notify(workflow)
