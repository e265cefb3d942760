"""What the dashboard and its pushes show alike."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals import queries
from approvals.access import permissions
from approvals.access.visibility import visibility_key
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, Workflow
from approvals.pages.cards import card_for
from approvals.queries import capped_count


def counts(user: User, shared: BatchCache | None = None, *, own: bool = True) -> dict[str, Any]:
    """What the counts say; those who see the same share them. What waits for this very person is None unless `own`."""
    shared, sight = shared or BatchCache(), visibility_key(user)
    return {
        "suspended_count": _suspended(user, shared),
        "waiting_count": waits_for(user, shared) if own or permissions.decides_everything(user) else None,
        "completed_count": shared.once(("ended", sight), lambda: capped_count(queries.ended_workflows_for(user))),
        "count_limit": queries.COUNT_LIMIT,
    }


def waits_for(user: User, shared: BatchCache) -> int:
    """How much waits for this very person, as the title of a page says it."""
    # Whoever decides everything has it all before them; nobody counts that twice.
    return _suspended(user, shared) if permissions.decides_everything(user) else queries.waiting_count(user)


def _suspended(user: User, shared: BatchCache) -> int:
    sight = visibility_key(user)
    return shared.once(("suspended", sight), lambda: capped_count(queries.suspended_workflows_for(user)))


def seen_request(user: User, shared: BatchCache, request_id: str) -> ApprovalRequest | None:
    """The request that the round is about, if this person may see it."""
    by_sight = ("request", visibility_key(user))
    return shared.once(by_sight, lambda: queries.requests_for(user).filter(pk=request_id).first())


def seen_waiting(user: User, shared: BatchCache, request: ApprovalRequest) -> Workflow | None:
    """Its workflow, if that waits, with the open requests that this person may see."""
    by_sight = ("waiting", visibility_key(user))
    return shared.once(by_sight, lambda: queries.suspended_workflows_for(user).filter(pk=request.workflow_id).first())


def workflow_card(user: User, workflow: Workflow) -> dict[str, Any]:
    """A workflow from `queries.suspended_workflows_for` with the cards of its open requests."""
    return {"workflow": workflow, "cards": [card_for(user, request) for request in workflow.requests.all()]}


def suspended_cursor(workflow: Workflow) -> queries.WorkflowCursor:
    """Return the cursor of a suspended workflow."""
    assert workflow.urgency is not None
    assert workflow.suspended_at is not None
    return queries.WorkflowCursor(workflow.urgency, workflow.suspended_at, workflow.pk)


def ended_cursor(workflow: Workflow) -> queries.WorkflowCursor:
    """Return the cursor of an ended workflow."""
    assert workflow.ended_at is not None
    return queries.WorkflowCursor(0, workflow.ended_at, workflow.pk)
