"""Requests and people for the desk's tests, made the way the product makes them: through `approvals.actions`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.db.prepared_writes import write_together
from approvals.db.transactions import in_transaction
from approvals.models import ApprovalRequest, AuditEntry, Decision, Workflow
from approvals.states import Door, Kind, Verdict, WorkflowState

#: A deadline that has passed, and one that won't pass while the tests run.
PAST = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
FUTURE = timezone.now() + timedelta(days=365)

REFUND = {"amount": 120, "orderId": "4711"}


def make_workflow(owner: User, **changes: Any) -> Workflow:
    fields = {"scope": "key:1", "key": f"run-{uuid4()}", "title": "A refund", "source": "api", "agent": "support"}
    return actions.open_workflow(owner=owner, **fields | changes)


def end_workflow(workflow: Workflow, state: str = WorkflowState.COMPLETED) -> None:
    with in_transaction():
        write_together([actions.end_of_workflow(workflow, state=WorkflowState(state))])


def make_ask(kind: Kind = Kind.APPROVAL, **changes: Any) -> Ask:
    return Ask(kind=kind, **{"title": "May I?", "input": REFUND} | changes)


def make_request(
    owner: User, kind: Kind = Kind.APPROVAL, *, workflow: Workflow | None = None, **changes: Any
) -> ApprovalRequest:
    """A request of `owner`, in a workflow of its own unless one is given."""
    workflow = workflow or make_workflow(owner)
    return actions.request_approval(workflow, make_ask(kind, **changes), requested_by=owner)


def decide(
    request: ApprovalRequest, by: User, verdict: Verdict, *, shown_digest: str | None = None, **given: Any
) -> actions.Outcome:
    """Answer with this verdict and these fields of `Answer`, on the dashboard."""
    answer = Answer(verdict, **given)
    return actions.decide(request.pk, answer, by=by, via=Door.DASHBOARD, shown_digest=shown_digest)


def cancel(request: ApprovalRequest, by: User, comment: str = "") -> actions.Outcome:
    return actions.cancel(request.pk, by=by, via=Door.DASHBOARD, comment=comment)


def stored(request: ApprovalRequest) -> ApprovalRequest:
    """The request as the database has it now."""
    return ApprovalRequest.objects.select_related("workflow").get(pk=request.pk)


def decisions(request: ApprovalRequest) -> list[Decision]:
    return list(Decision.objects.filter(request_id=request.pk))


def events(request: ApprovalRequest) -> list[str]:
    """The audit events of a request, in order."""
    return list(AuditEntry.objects.filter(request_id=request.pk).order_by("id").values_list("event", flat=True))


def waits(workflow: Workflow) -> tuple[str, int, int | None, bool]:
    """State, number of open requests, urgency, and whether it says since when it waits."""
    workflow = Workflow.objects.get(pk=workflow.pk)
    return workflow.state, workflow.open_count, workflow.urgency, workflow.suspended_at is not None
