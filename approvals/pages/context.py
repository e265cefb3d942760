"""Context shared by pages and their pushes: counts, and the requests that a person may see."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from approvals import queries
from approvals.access import permissions
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.access.visibility import visibility_key
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.queries import capped_count
from approvals.queries.policy.scopes.visible import waiting_count
from approvals.queries.policy.votes.ballots import Ballot, ballots_of
from approvals.queries.requests import waiting_for_votes


def tab_counts(viewer: Standing, shared: BatchCache) -> dict[str, Any]:
    """Return the counts beside the tabs; the first one is also in the title of the page.

    Requests that do not need this person's vote wait for others, and are counted apart.
    """
    for_others = waiting_for_others(viewer, shared)
    return {
        "waiting_count": _waiting(viewer, shared) - for_others,
        "others_count": for_others,
        "suspended_count": _suspended(viewer, shared),
        "count_limit": queries.COUNT_LIMIT,
    }


def waiting_for_others(viewer: Standing, shared: BatchCache) -> int:
    """Return how many waiting requests do not need the vote of this person, who might decide them."""
    ballots = waiting_ballots(viewer, shared).values()
    return sum(ballot.waits_for_others(viewer) for ballot in ballots)


def waiting_ballots(viewer: Standing, shared: BatchCache) -> dict[UUID, Ballot]:
    """Return the ballots of the waiting requests that this person may decide, read once for all viewers of a batch."""
    if DECIDE not in viewer.rights or _waiting(viewer, shared) in {
        0,
        queries.COUNT_LIMIT,
    }:
        return {}

    def read() -> tuple[list[ApprovalRequest], dict[UUID, Ballot]]:
        viewers = [
            each
            for each in (viewer, *shared.viewers)
            if each.is_limited == viewer.is_limited
        ]
        requests = waiting_for_votes(viewers)
        return requests, ballots_of(requests, viewers)

    requests, ballots = shared.once(("voted on", viewer.is_limited), read)
    return {
        request.pk: ballots[request.pk]
        for request in requests
        if request.pk in ballots
        and (not viewer.is_limited or request.scope_set_id in viewer.scope_sets)
    }


def _waiting(viewer: Standing, shared: BatchCache) -> int:
    """Return how many requests this person may end, up to a limit."""
    if permissions.decides_everything(viewer):
        return shared.once(
            "waiting for deciders", lambda: capped_count(queries.inbox_for(viewer))
        )
    return shared.once(
        ("waiting", viewer.pk), lambda: waiting_count(viewer, queries.COUNT_LIMIT)
    )


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
