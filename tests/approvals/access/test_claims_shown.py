"""What a page shows of a claim."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.assignees import LAPSES, Holder, holder_for
from approvals.access.rights import DECIDE, VIEW
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Kind, Status

BOB = Standing(pk=2, is_active=True, rights=frozenset({DECIDE}))
DORA = Standing(pk=3, is_active=True, rights=frozenset({DECIDE}))
CAROL = Standing(pk=4, is_active=True, rights=frozenset({VIEW}))
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon(monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: NOON)


def waiting(**fields: Any) -> ApprovalRequest:
    values = {"requested_by_id": 1, "kind": Kind.APPROVAL, "status": Status.PENDING} | fields
    return ApprovalRequest(workflow=Workflow(owner_id=1), **values)


def claimed(minutes_ago: float, **fields: Any) -> ApprovalRequest:
    at = NOON - timedelta(minutes=minutes_ago)
    return waiting(claimed_by_id=2, claimed_name="bob", claimed_at=at, **fields)


def assigned_to_dora(request: ApprovalRequest) -> ApprovalRequest:
    request.assigned_to = User(pk=3, username="dora", first_name="Dora Klein")
    return request


def test_a_claim_is_shown_with_the_moment_at_which_it_lapses_until_it_has_lapsed():
    fresh = claimed(minutes_ago=14.99)
    lapsed = claimed(minutes_ago=15)
    holders = [holder_for(BOB, request) for request in (fresh, lapsed)]
    shown = [(holder.name, holder.mine, holder.lapses_at) for holder in holders]
    assert shown == [("bob", True, fresh.claimed_at + LAPSES), ("", False, None)]


def test_only_the_owner_of_a_claim_sees_it_as_theirs_and_it_ends_with_the_request():
    request = claimed(minutes_ago=1)
    assert [(holder_for(who, request).name, holder_for(who, request).mine) for who in (BOB, DORA)] == [
        ("bob", True), ("bob", False),
    ]  # fmt: skip
    ended = holder_for(BOB, claimed(minutes_ago=1, status=Status.APPROVED))
    assert (ended.name, ended.mine, ended.lapses_at) == ("", False, None)
    assert not holder_for(Standing(), waiting()).mine


def test_the_assignee_is_shown_by_name_and_only_they_see_themselves_in_it():
    request = assigned_to_dora(waiting())
    holders = [holder_for(viewer, request) for viewer in (DORA, BOB)]
    assert [(holder.assigned, holder.assigned_display, holder.assigned_to_me) for holder in holders] == [
        ("dora", "Dora Klein", True),
        ("dora", "Dora Klein", False),
    ]
    unassigned = holder_for(DORA, waiting())
    assert (unassigned.assigned, unassigned.assigned_display, unassigned.assigned_to_me) == ("", "", False)


def test_the_display_name_of_a_claim_is_the_one_that_was_read_with_the_request():
    request = claimed(minutes_ago=1)
    request.claimed_display = "Bob Miller"
    assert holder_for(DORA, request).display == "Bob Miller"


@pytest.mark.parametrize(
    ("viewer", "status", "may_take"),
    [
        (BOB, Status.PENDING, True),
        (CAROL, Status.PENDING, False),
        (BOB, Status.APPROVED, False),
        (BOB, Status.EXPIRED, False),
    ],
)
def test_a_waiting_request_is_offered_to_people_who_may_end_it(viewer, status, may_take):
    assert holder_for(viewer, waiting(status=status)).may_take is may_take


def test_a_refusal_is_shown_where_the_viewer_pressed():
    assert holder_for(BOB, waiting(), refusal="Dora has it.").refusal == "Dora has it."
    assert holder_for(BOB, waiting()).refusal == ""


def test_the_version_changes_with_the_status_the_claim_and_the_assignee_and_is_the_same_for_all_viewers():
    requests = [
        waiting(),
        waiting(status=Status.APPROVED),
        claimed(minutes_ago=1),
        claimed(minutes_ago=2),
        waiting(claimed_by_id=3, claimed_name="dora", claimed_at=NOON - timedelta(minutes=1)),
        assigned_to_dora(waiting()),
    ]
    versions = [holder_for(BOB, request).version for request in requests]
    assert len(set(versions)) == len(requests)
    assert versions == [holder_for(CAROL, request).version for request in requests]
    assert holder_for(BOB, claimed(minutes_ago=20)).version == versions[0]


def test_a_holder_of_which_nothing_is_said_is_no_one():
    assert Holder() == Holder(
        name="", mine=False, lapses_at=None, assigned="", display=None, assigned_display="", assigned_to_me=False,
        may_take=False, version="", refusal="",
    )  # fmt: skip
