"""Concurrent takers of one resume, in threads with connections of their own: one gets it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.actions.resuming import ClaimedLease, ResumeLost, ResumeTaken
from approvals.models import Resumption
from approvals.states import Door, Verdict
from tests.approvals.actions.test_races import race
from tests.support.desk.requests import decide, events, make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


def approved(owner, approver):
    request = make_request(owner)
    decide(request, approver, Verdict.APPROVE)
    return request


def takers(request, owner, how_many: int):
    def take(worker: str):
        return actions.take_resume(request.pk, by=owner, via=Door.REST, worker=worker, lease=timedelta(minutes=1))

    return [lambda worker=f"worker-{place}": take(worker) for place in range(how_many)]


def check_that_one_has_it(found, request) -> ClaimedLease:
    (winner,) = (one for one in found if isinstance(one, ClaimedLease))
    refusals = [one for one in found if isinstance(one, ResumeTaken)]
    assert {one.resumption.holder for one in refusals} == {winner.resumption.holder}
    assert len(refusals) == len(found) - 1
    assert Resumption.objects.get(pk=request.pk).holder == winner.resumption.holder
    return winner


def test_of_eight_concurrent_takers_one_gets_the_resume_and_is_named_to_the_others():
    owner = alice()
    request = approved(owner, bob())
    check_that_one_has_it(race(*takers(request, owner, 8)), request)
    assert events(request) == ["request.created", "request.decided", "resume.taken"]


def test_of_eight_takers_after_a_lease_ended_one_gets_it_and_the_dead_one_cannot_complete():
    owner = alice()
    request = approved(owner, bob())
    dead = takers(request, owner, 1)[0]()
    Resumption.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    winner = check_that_one_has_it(race(*takers(request, owner, 8)), request)
    assert winner.resumption.attempt == 2
    assert events(request)[2:] == ["resume.taken", "resume.lost", "resume.taken"]
    with pytest.raises(ResumeLost):
        actions.complete_resume(request.pk, dead.token, by=owner, via=Door.REST)


def test_a_late_completion_and_a_taker_never_both_have_it():
    owner, approver = alice(), bob()
    for _ in range(5):
        request = approved(owner, approver)
        slow = takers(request, owner, 1)[0]()
        Resumption.objects.filter(pk=request.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
        completed, taken = race(
            lambda slow=slow, request=request: actions.complete_resume(request.pk, slow.token, by=owner, via=Door.REST),
            takers(request, owner, 1)[0],
        )
        assert isinstance(completed, tuple) != isinstance(taken, ClaimedLease)
