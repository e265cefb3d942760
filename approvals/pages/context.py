"""Context that pages and their pushes share: counts, and the requests and workflows that a person may see."""

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
    """Return the counts for `_counts.html`; people who see the same rows share them.

    `waiting_count`, which depends on the person, is None unless `own` is true or the person may decide everything.
    """
    shared, sight = shared or Shared(), permissions.sight_of(user)
    return {
        "suspended_count": _suspended(user, shared),
        "waiting_count": waiting_count_for(user, shared) if own or permissions.decides_everything(user) else None,
        "completed_count": shared.once(("ended", sight), lambda: capped_count(queries.ended_workflows_for(user))),
        "count_limit": queries.COUNT_LIMIT,
    }


def waiting_count_for(user: User, shared: Shared) -> int:
    """Return how many requests wait for this person, as the title of a page shows."""
    # For people who may decide everything, this is the count of suspended workflows, which is already known.
    return _suspended(user, shared) if permissions.decides_everything(user) else queries.waiting_count(user)


def _suspended(user: User, shared: Shared) -> int:
    sight = permissions.sight_of(user)
    return shared.once(("suspended", sight), lambda: capped_count(queries.suspended_workflows_for(user)))


def visible_request(user: User, shared: Shared, request_id: str) -> ApprovalRequest | None:
    """Return the request that a push is about, or None if this person may not see it."""
    by_sight = ("request", permissions.sight_of(user))
    return shared.once(by_sight, lambda: queries.requests_for(user).filter(pk=request_id).first())


def visible_suspended_workflow(user: User, shared: Shared, request: ApprovalRequest) -> Workflow | None:
    """Return the request's workflow with the waiting requests that this person may see, or None if it is not suspended."""
    by_sight = ("waiting", permissions.sight_of(user))
    return shared.once(by_sight, lambda: queries.suspended_workflows_for(user).filter(pk=request.workflow_id).first())


def workflow_card(user: User, workflow: Workflow) -> dict[str, Any]:
    """A suspended workflow with the cards of its open requests."""
    found: list[ApprovalRequest] = workflow.open_requests  # type: ignore[attr-defined]
    return {"workflow": workflow, "cards": [card_for(user, request) for request in found]}


def suspended_cursor(workflow: Workflow) -> Place:
    """Return the cursor of a workflow in the list of suspended workflows."""
    assert workflow.urgency is not None
    assert workflow.suspended_at is not None
    return Place(workflow.urgency, workflow.suspended_at, workflow.pk)


def ended_cursor(workflow: Workflow) -> Place:
    """Return the cursor of a workflow in the list of ended workflows."""
    assert workflow.ended_at is not None
    return Place(0, workflow.ended_at, workflow.pk)
