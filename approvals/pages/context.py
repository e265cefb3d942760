"""Context shared by pages and their pushes: counts, and the requests that a person may see."""

from __future__ import annotations

from typing import Any

from approvals import queries
from approvals.access import permissions
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.access.visibility import visibility_key
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.queries import capped_count
from approvals.queries.policy.scopes.visible import waiting_count
from approvals.queries.policy.votes.ballots import ballots_of
from approvals.queries.requests import waiting_for_votes


def tab_counts(viewer: Standing, shared: BatchCache) -> dict[str, Any]:
    """Return the counts beside the tabs; the first one is also in the title of the page."""
    return {
        "waiting_count": waiting_count_for(viewer, shared),
        "suspended_count": _suspended(viewer, shared),
        "count_limit": queries.COUNT_LIMIT,
    }


def waiting_count_for(viewer: Standing, shared: BatchCache) -> int:
    """Return how many requests wait for this person, for the title of a page. Those that need only votes of others do not."""
    if not permissions.decides_everything(viewer):
        count = waiting_count(viewer, queries.COUNT_LIMIT)
    else:
        count = shared.once(
            "waiting for deciders", lambda: capped_count(queries.inbox_for(viewer))
        )
    if count in {0, queries.COUNT_LIMIT} or DECIDE not in viewer.rights:
        return count
    voted_on = shared.once(
        ("voted on", visibility_key(viewer)), lambda: waiting_for_votes(viewer)
    )
    ballots = ballots_of(voted_on, viewer).values()
    return count - sum(not ballot.needs(viewer) for ballot in ballots)


def _suspended(viewer: Standing, shared: BatchCache) -> int:
    visibility = visibility_key(viewer)
    return shared.once(
        ("suspended", visibility),
        lambda: capped_count(queries.suspended_workflows_for(viewer)),
    )


def visible_request(
    viewer: Standing, shared: BatchCache, request_id: str
) -> ApprovalRequest | None:
    """Return the request of a push, or None if this person may not see it."""
    cache_key = ("request", visibility_key(viewer))
    return shared.once(
        cache_key,
        lambda: (
            queries.with_names(queries.requests_for(viewer))
            .filter(pk=request_id)
            .first()
        ),
    )
