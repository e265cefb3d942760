"""Lock requests and workflows for the rest of a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import CharField, QuerySet, UUIDField
from django.db.models.functions import Now

from approvals.access import permissions, scopes
from approvals.access.assignees import LAPSES, claimant
from approvals.access.permissions import Person
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import in_line
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, Workflow
from approvals.queries.requests import whole_requests, with_report


@dataclass(frozen=True, slots=True)
class Locked:
    """A request as it is under the lock of its workflow, and the time by the database's clock.

    All processes go by that one clock, however theirs drift.
    """

    request: ApprovalRequest
    workflow: Workflow
    now: datetime

    @property
    def overdue(self) -> bool:
        """Whether it still waits though its deadline has passed."""
        deadline = self.request.deadline_at
        return self.request.pending and deadline is not None and deadline <= self.now

    @property
    def claimed_by_id(self) -> int | None:
        """The id of the user who has claimed it, unless the claim has lapsed."""
        return claimant(self.request, self.now)

    @property
    def claim_lapsed(self) -> bool:
        """Whether it waits and was claimed too long ago."""
        at = self.request.claimed_at
        return self.request.pending and at is not None and at <= self.now - LAPSES


def _locked_requests(*, skip_locked: bool = False) -> QuerySet[ApprovalRequest]:
    """Return requests that the query locks, each after its workflow: PostgreSQL locks in the order of the names."""
    rows = with_report(whole_requests()).select_for_update(
        of=("workflow", "self"), no_key=True, skip_locked=skip_locked
    )
    return rows.annotate(now=Now())


_FREE: Prepared[ApprovalRequest] = Prepared(
    lambda: _locked_requests(skip_locked=True).filter(pk=Parameter("pk", UUIDField()))
)
_NAMED_WORKFLOW: Prepared[Workflow] = Prepared(
    lambda: _lockable_workflows().filter(scope=Parameter("scope", CharField()), key=Parameter("key", CharField()))
)


def lock_request(request_id: UUID, *, wait: bool = True) -> Locked | None:
    """Lock a request; None if there is none or, without `wait`, if another transaction holds the lock.

    There is one lock for everything that a workflow asks, so two transactions that end several of its requests in
    different orders cannot block each other. The request is as the last holder left it.
    """
    request = _FREE.first(pk=request_id)
    if request is None and wait and (workflow := Workflow.objects.filter(requests=request_id).first()) is not None:
        lock_known_workflow(workflow.pk)
        request = _locked_requests().filter(pk=request_id).first()
    elif request is not None and _is_torn(request):
        request = _locked_requests().get(pk=request_id)
    if request is None:
        return None
    # Removed, so that no code relies on an attribute that other requests lack.
    return Locked(request, request.workflow, vars(request).pop("now"))


def _is_torn(request: ApprovalRequest) -> bool:
    """Whether another transaction ended or assigned the request while the statement that locked it began.

    PostgreSQL then reads the locked rows again, but not the decision and the assignee beside them.
    """
    decision, assignee = getattr(request, "decision", None), request.assigned_to
    return request.pending == (decision is not None) or request.assigned_to_id != (assignee.pk if assignee else None)


def lock_visible_request(request_id: UUID, user: Person) -> Locked:
    """Lock a request that this person may see. NotFound."""
    locked = lock_request(request_id)
    # Who has lost a scope since the call began must not act on what they had.
    scopes.forget(user)
    if locked is None or not permissions.may_see(user, locked.request):
        raise NotFound
    return locked


def lock_workflow(*, scope: str, key: str) -> Workflow | None:
    """Lock a workflow; None if there is none (yet).

    Call it before a transaction writes its first event: every transaction locks the workflow before the counter of its
    events, so that no two wait for each other.
    """
    with in_line(("workflow", scope, key)):
        return _NAMED_WORKFLOW.first(scope=scope, key=key)


def lock_known_workflow(workflow_id: int) -> Workflow:
    with in_line(("workflow", workflow_id)):
        return _lockable_workflows().get(pk=workflow_id)


def _lockable_workflows() -> QuerySet[Workflow]:
    return Workflow.objects.select_for_update(of=("self",), no_key=True)
