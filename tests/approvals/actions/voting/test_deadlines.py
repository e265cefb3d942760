"""A deadline turns no vote into a decision: a request undecided by then has expired."""

from __future__ import annotations

import pytest

from approvals.actions import expire
from approvals.exceptions import Expired
from approvals.models import ApprovalRequest, Decision
from approvals.states import Verdict
from tests.support.desk.requests import PAST, stored
from tests.support.desk.votes import both, group, make_voted, vote, votes_of
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def people():
    return [make_person(name, "decide_approvalrequest", "view_approvalrequest") for name in ("bob", "dave", "erin")]


@pytest.mark.parametrize("verdict", [Verdict.REJECT, Verdict.APPROVE])
def test_neither_a_denial_nor_an_approval_is_turned_into_an_outcome_at_the_time_out(people, verdict):
    request = make_voted(alice(), both(group(votes=2)))
    vote(request, people[0], verdict)
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=PAST)
    assert expire(request.pk)
    decision = Decision.objects.get()
    assert (stored(request).status, decision.verdict, decision.approved_digest) == ("expired", "expire", "")
    assert votes_of(request) == [("bob", verdict.value)]


def test_a_vote_after_the_deadline_is_too_late_and_expires_the_request(people):
    request = make_voted(alice(), both(group(votes=1)))
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=PAST)
    with pytest.raises(Expired):
        vote(request, people[0])
    assert (stored(request).status, votes_of(request)) == ("expired", [])
