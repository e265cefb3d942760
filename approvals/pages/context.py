"""What the dashboard and its pushes show alike."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from approvals import queries
from approvals.access import permissions
from approvals.live.batching import Shared
from approvals.models import ApprovalRequest, Workflow
from approvals.pages.cards import card_for
from approvals.queries import capped_count
from approvals.runtime.cursors import Place


def counts(user: User, shared: Shared | None = None, *, own: bool = True) -> dict[str, Any]:
    """What the counts say; those who see the same share them. What waits for this very person is None unless `own`."""
    shared, sight = shared or Shared(), permissions.sight_of(user)
    return {
        "suspended_count": _suspended(user, shared),
        "waiting_count": waits_for(user, shared) if own or permissions.decides_everything(user) else None,
        "completed_count": shared.once(("ended", sight), lambda: capped_count(queries.ended_workflows_for(user))),
        "count_limit": queries.COUNT_LIMIT,
    }


def waits_for(user: User, shared: Shared) -> int:
    """How much waits for this very person, as the title of a page says it."""
    # Whoever decides everything has it all before them; nobody counts that twice.
    return _suspended(user, shared) if permissions.decides_everything(user) else queries.waiting_count(user)


def _suspended(user: User, shared: Shared) -> int:
    sight = permissions.sight_of(user)
    return shared.once(("suspended", sight), lambda: capped_count(queries.suspended_workflows_for(user)))


def seen_request(user: User, shared: Shared, request_id: str) -> ApprovalRequest | None:
    """The request that the round is about, if this person may see it."""
    by_sight = ("request", permissions.sight_of(user))
    return shared.once(by_sight, lambda: queries.requests_for(user).filter(pk=request_id).first())


def seen_waiting(user: User, shared: Shared, request: ApprovalRequest) -> Workflow | None:
    """Its workflow, if that waits, with the open requests that this person may see."""
    by_sight = ("waiting", permissions.sight_of(user))
    return shared.once(by_sight, lambda: queries.suspended_workflows_for(user).filter(pk=request.workflow_id).first())


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
