"""What a page shows of a claim."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from approvals.access.assignees import LAPSES, holder_for
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Kind, Status

BOB = Standing(pk=2, is_active=True, rights=frozenset({DECIDE}))


def claimed(minutes_ago: int) -> ApprovalRequest:
    return ApprovalRequest(
        workflow=Workflow(owner_id=1),
        requested_by_id=1,
        kind=Kind.APPROVAL,
        status=Status.PENDING,
        claimed_by_id=2,
        claimed_name="bob",
        claimed_at=timezone.now() - timedelta(minutes=minutes_ago),
    )


def test_a_claim_is_shown_with_the_moment_at_which_it_lapses_until_it_has_lapsed():
    fresh = claimed(minutes_ago=5)
    lapsed = claimed(minutes_ago=16)
    holders = [holder_for(BOB, request) for request in (fresh, lapsed)]
    shown = [(holder.name, holder.mine, holder.lapses_at) for holder in holders]
    assert shown == [("bob", True, fresh.claimed_at + LAPSES), ("", False, None)]
