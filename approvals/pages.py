"""What the dashboard and its pushes show alike."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals import auth, queries
from approvals.cards import card_for
from approvals.models import ApprovalRequest, Workflow
from approvals.paging import Place


def counts(user: User) -> dict[str, Any]:
    suspended = queries.capped_count(queries.suspended_workflows_for(user))
    return {
        "suspended_count": suspended,
        # Whoever decides everything has it all before them; nobody counts that twice.
        "waiting_count": suspended if auth.decides_everything(user) else queries.waiting_count(user),
        "completed_count": queries.capped_count(queries.ended_workflows_for(user)),
        "count_limit": queries.COUNT_LIMIT,
    }


def workflow_card(user: User, workflow: Workflow) -> dict[str, Any]:
    """A suspended workflow with the cards of its open requests."""
    found: list[ApprovalRequest] = workflow.open_requests  # type: ignore[attr-defined]
    return {"workflow": workflow, "cards": [card_for(user, request) for request in found]}


def suspended_place(workflow: Workflow) -> Place:
    """Where a suspended workflow stands in its list."""
    assert workflow.urgency is not None
    assert workflow.suspended_at is not None
    return Place(workflow.urgency, workflow.suspended_at, workflow.pk)


def ended_place(workflow: Workflow) -> Place:
    """Where a workflow that ended stands in its list."""
    assert workflow.ended_at is not None
    return Place(0, workflow.ended_at, workflow.pk)
