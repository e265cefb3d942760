"""Context that pages and their pushes share: counts, and the requests and workflows that a person may see."""

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
    """Return the counts for `_counts.html`; people who see the same rows share them.

    `waiting_count`, which depends on the person, is None unless `own` is true or the person may decide everything.
    """
    shared, visibility = shared or BatchCache(), visibility_key(user)
    return {
        "suspended_count": _suspended(user, shared),
        "waiting_count": waiting_count_for(user, shared) if own or permissions.decides_everything(user) else None,
        "completed_count": shared.once(("ended", visibility), lambda: capped_count(queries.ended_workflows_for(user))),
        "count_limit": queries.COUNT_LIMIT,
    }


def waiting_count_for(user: User, shared: BatchCache) -> int:
    """Return how many requests wait for this person, as the title of a page shows."""
    # For people who may decide everything, this is the count of suspended workflows, which is already known.
    return _suspended(user, shared) if permissions.decides_everything(user) else queries.waiting_count(user)


def _suspended(user: User, shared: BatchCache) -> int:
    visibility = visibility_key(user)
    return shared.once(("suspended", visibility), lambda: capped_count(queries.suspended_workflows_for(user)))


def visible_request(user: User, shared: BatchCache, request_id: str) -> ApprovalRequest | None:
    """Return the request that a push is about, or None if this person may not see it."""
    cache_key = ("request", visibility_key(user))
    return shared.once(cache_key, lambda: queries.requests_for(user).filter(pk=request_id).first())


def visible_suspended_workflow(user: User, shared: BatchCache, request: ApprovalRequest) -> Workflow | None:
    """Return the request's workflow with the waiting requests that this person may see, or None if it is not suspended."""
    cache_key = ("waiting", visibility_key(user))
    return shared.once(cache_key, lambda: queries.suspended_workflows_for(user).filter(pk=request.workflow_id).first())


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
