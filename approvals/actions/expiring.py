"""End requests whose deadline has passed: the default response of a question is then its answer, or the run is stopped."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from approvals.actions import publishing, rows
from approvals.actions.ending import end_request
from approvals.actions.locking import Locked, lock_request
from approvals.asking.answers import ABSENT, Answer
from approvals.models import Workflow
from approvals.states import PROGRAMS, Door, Status, Verdict, WorkflowState

#: Recorded as it is in every language, as the comment on what else a stopped run has asked.
HALTED = "No one decided another request before its deadline, and the policy stops the run then."


def expire(request_id: UUID) -> bool:
    """End a request whose deadline has passed; False if it has not, or if the request has ended before."""
    with transaction.atomic():
        locked = lock_request(request_id)
        return locked is not None and expire_if_overdue(locked)


def expire_free(request_ids: Iterable[UUID]) -> set[UUID]:
    """End those of these requests whose deadline has passed, in one commit; return which.

    A request that another transaction has locked is left to it.
    """
    with transaction.atomic():
        free = (lock_request(request_id, wait=False) for request_id in request_ids)
        return {locked.request.pk for locked in free if locked is not None and expire_if_overdue(locked)}


def expire_if_overdue(locked: Locked) -> bool:
    """End a locked request if its deadline has passed, with its default response as the answer; whether it did.

    If its terms say so, the run stops: what else it waits for is cancelled, and it ends.
    """
    request = locked.request
    if locked.overdue:
        default = request.default_response if request.has_default else ABSENT
        end_request(locked, Answer(Verdict.EXPIRE, answer=default), by=None, via=Door.DEADLINE)
        if request.halted:
            _halt(locked.workflow)
        return True
    return False


def _halt(workflow: Workflow) -> None:
    """Stop a run whose workflow is locked. A turn of a chat is stopped by the chats, and its workflow ends with it."""
    for request_id in workflow.requests.filter(status=Status.PENDING).order_by("pk").values_list("pk", flat=True):
        locked = lock_request(request_id)
        assert locked is not None
        end_request(locked, Answer(Verdict.CANCEL, comment=HALTED), by=None, via=Door.DEADLINE)
    if workflow.source in PROGRAMS:
        none = {"urgency": None, "suspended_at": None}
        rows.END_WORKFLOW.run(pk=workflow.pk, state=WorkflowState.CANCELLED, ended_at=timezone.now(), **none)
        publishing.notify(workflow)
