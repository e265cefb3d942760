"""Concurrent claims and assignments, in threads with connections of their own: one wins."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.exceptions import AlreadyDecided, AssignedMeanwhile
from approvals.models import AuditEntry
from approvals.states import Door, Status, Verdict
from tests.approvals.actions.test_races import race
from tests.support.desk.requests import decide, events, make_request, stored
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def deciders(how_many: int):
    return [make_person(f"decider{place}", "decide_approvalrequest") for place in range(how_many)]


def test_of_ten_concurrent_claims_one_wins_and_nine_are_refused_with_the_name():
    request, people = make_request(alice()), deciders(10)
    found = race(*(lambda by=by: actions.claim(request.pk, by=by, via=Door.DASHBOARD) for by in people))
    winner = stored(request).claimed_name
    refusals = [one for one in found if isinstance(one, AssignedMeanwhile)]
    assert (len(refusals), {one.claimed_by for one in refusals}) == (9, {winner})
    assert list(AuditEntry.objects.filter(event="request.claimed").values_list("actor_name", flat=True)) == [winner]


def test_of_ten_concurrent_assignments_one_wins():
    request, people = make_request(alice()), deciders(10)
    found = race(*(lambda by=by: actions.assign(request.pk, by=by, via=Door.DASHBOARD, to=by) for by in people))
    assigned = stored(request).assigned_to.username
    refusals = [one for one in found if isinstance(one, AssignedMeanwhile)]
    assert (len(refusals), {one.assigned_to for one in refusals}) == (9, {assigned})
    assert events(request) == ["request.created", "request.assigned"]


def test_a_decision_concurrent_with_a_claim_stands():
    owner, (one, other) = alice(), deciders(2)
    for _ in range(5):
        request = make_request(owner)
        decided, claimed = race(
            lambda request=request: decide(request, one, Verdict.APPROVE),
            lambda request=request: actions.claim(request.pk, by=other, via=Door.DASHBOARD),
        )
        assert isinstance(decided, actions.Outcome)
        assert stored(request).status == Status.APPROVED
        late = ["request.created", "request.decided"]
        taken = ["request.created", "request.claimed", "request.decided"]
        assert events(request) == (late if isinstance(claimed, AlreadyDecided) else taken)
