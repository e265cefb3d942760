"""Lock requests and workflows for the rest of a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import CharField, QuerySet, UUIDField
from django.db.models.functions import Now

from approvals.access import permissions
from approvals.access.assignees import LAPSES, claimant
from approvals.access.permissions import Person
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, Workflow
from approvals.outbound import outbox
from approvals.queries.requests import whole_requests
from approvals.runtime.prepared import Parameter, Prepared
from approvals.runtime.transactions import in_line


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


def _locked_workflows(*, skip_locked: bool = False) -> QuerySet[Workflow]:
    """Return workflows that the query locks, with whether their events go anywhere."""
    rows = Workflow.objects.select_for_update(of=("self",), no_key=True, skip_locked=skip_locked)
    return rows.annotate(**{"has_targets": outbox.has_targets()})


_REQUEST: Prepared[ApprovalRequest] = Prepared(
    lambda: whole_requests().annotate(now=Now()).filter(pk=Parameter("pk", UUIDField()))
)
_FREE_WORKFLOW: Prepared[Workflow] = Prepared(
    lambda: _locked_workflows(skip_locked=True).filter(requests=Parameter("request", UUIDField()))
)
_NAMED_WORKFLOW: Prepared[Workflow] = Prepared(
    lambda: _locked_workflows().filter(scope=Parameter("scope", CharField()), key=Parameter("key", CharField()))
)


def lock_request(request_id: UUID, *, wait: bool = True) -> Locked | None:
    """Lock a request; None if there is none or, without `wait`, if another transaction holds the lock.

    There is one lock for everything that a workflow asks, so two transactions that end several of its requests in
    different orders cannot block each other. The request is read after the lock, as the last holder left it.
    """
    workflow = _FREE_WORKFLOW.first(request=request_id)
    if workflow is None and wait and (locked := Workflow.objects.filter(requests=request_id).first()) is not None:
        workflow = lock_known_workflow(locked.pk)
    request = _REQUEST.first(pk=request_id) if workflow is not None else None
    if workflow is None or request is None:
        return None
    request.workflow = workflow
    # Removed, so that no code relies on an attribute that other requests lack.
    return Locked(request, workflow, vars(request).pop("now"))


def lock_visible_request(request_id: UUID, user: Person) -> Locked:
    """Lock a request that this person may see. NotFound."""
    locked = lock_request(request_id)
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
        return _locked_workflows().get(pk=workflow_id)
