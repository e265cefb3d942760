"""The policy under real locks: an earlier no answers each call once, and no request is decided with fewer votes than it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from approvals import actions
from approvals.actions import attention
from approvals.actions.attention.advice import Recommendation
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided
from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant, Workflow
from approvals.models.actors import KeyActor
from approvals.policy.terms import terms_of
from approvals.states import Door, Hint, Status, Verdict
from tests.approvals.actions.policy.granting import approve, ask, give, terms
from tests.proofs.postgresql.racing import Act, failures, race
from tests.support.desk.requests import make_ask, make_workflow, stored
from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import both, group, make_voted, progress_of, vote, votes_of
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def reject(request: ApprovalRequest, by: User) -> None:
    actions.decide(request.pk, Answer(Verdict.REJECT, comment="No."), by=by, via=Door.DASHBOARD)


@pytest.mark.parametrize("workflow", ["", "run-1"])
def test_twenty_equal_asks_at_once_are_each_answered_once_by_the_earlier_no(workflow):
    apply_policy(repeat_rejections=True)
    asker = alice()
    first = ask(asker)
    reject(first, bob())
    results = race(*([lambda: ask(asker, workflow=workflow)] * 20))
    assert failures(results) == []
    again = ApprovalRequest.objects.exclude(pk=first.pk)
    assert list(again.values_list("status", "repeats")) == [("rejected", first.pk)] * 20
    decisions = Decision.objects.exclude(request=first)
    assert sorted(decisions.values_list("request_id", flat=True)) == sorted(request.pk for request in again)
    assert set(decisions.values_list("by_id", "via", "verdict")) == {(None, "rule", "reject")}
    entries = AuditEntry.objects.filter(request_id__in=[request.pk for request in again])
    assert sorted(entries.values_list("event", flat=True)) == ["request.created"] * 20 + ["request.decided"] * 20
    assert set(Workflow.objects.values_list("open_count", flat=True)) == {0}


def test_what_is_asked_while_the_no_is_taken_back_waits_or_is_answered_and_nothing_else():
    """An approval of the same call ends the earlier no: calls after its commit go to people."""
    apply_policy(repeat_rejections=True)
    asker, decider = alice(), bob()
    waiting = ask(asker)
    reject(ask(asker), decider)
    results = race(*([lambda: ask(asker)] * 6), lambda: approve(waiting, decider), *([lambda: ask(asker)] * 6))
    assert failures(results) == []
    requests = [stored(result) for result in results if isinstance(result, ApprovalRequest)]
    assert {(request.status, request.repeats is not None) for request in requests} <= {
        ("rejected", True),
        ("pending", False),
    }
    later = ask(asker)
    assert (later.status, later.repeats) == ("pending", None)


def test_an_ask_that_waits_for_no_lock_sees_the_no_as_soon_as_it_is_stored():
    apply_policy(repeat_rejections=True)
    asker, decider = alice(), bob()
    waiting = ask(asker)
    with transaction.atomic():
        reject(waiting, decider)
        before = Act(lambda: ask(asker)).begun().ended()
    after = ask(asker)
    assert [(each.status, each.repeats) for each in (before, after)] == [("pending", None), ("rejected", waiting.pk)]


def ask_in_one_step(asker: User, amounts: Sequence[int]) -> Iterator[ApprovalRequest]:
    """Ask about several calls in one transaction, as a step of a chat does."""
    workflow = make_workflow(asker, agent="billing")
    for amount in amounts:
        yield actions.request_approval(
            workflow, make_ask(tool_name="refund", input={"amount": amount}), requested_by=asker
        )


def test_two_steps_that_use_the_same_two_grants_in_opposite_order_both_go_on():
    """Each holds the row of the grant that it used first, and needs the row that the other one holds."""
    asker, giver = alice(), bob()
    grants = [give(giver, asker, terms(uses=2), {"amount": amount}) for amount in (5, 6)]

    def opposite() -> list[ApprovalRequest]:
        with transaction.atomic():
            return list(ask_in_one_step(asker, [6, 5]))

    other = Act(opposite)
    with transaction.atomic():
        step = ask_in_one_step(asker, [5, 6])
        requests = [next(step)]
        other.begun().until_it_waits()
        requests.extend(step)
    results = other.ended()
    assert failures([results]) == []
    assert [request.status for request in (*requests, *results)] == ["approved"] * 4
    assert list(Grant.objects.values_list("used", "ended_why")) == [(2, "used_up")] * len(grants)


# --- Advice that asks for more votes, while people vote.


@pytest.fixture
def reviewer() -> KeyActor:
    return key_of(carol())


def key_of(person: User) -> KeyActor:
    return KeyActor(person, create_key(person, name="reviewer", scopes=["advise"])[0])


def advise(request: ApprovalRequest, by: KeyActor, more: int = 1) -> object:
    new = Recommendation(hint=Hint.CLOSER, text="Ask one more.", more_votes=more)
    return attention.advise(request.pk, new, by=by, via=Door.REST)


@pytest.fixture
def voters() -> list[User]:
    return [
        make_person(name, "decide_approvalrequest", "view_approvalrequest") for name in ("dora", "erin", "frank", "hal")
    ]


def of_two(voters: list[User]) -> ApprovalRequest:
    """A request that needs two votes, and has one."""
    asker = User.objects.filter(username="alice").first() or alice()
    request = make_voted(asker, both(group(votes=2)), workflow=make_workflow(asker, scope="key:0"))
    vote(request, voters[0])
    return request


def needed(request: ApprovalRequest) -> int:
    return sum(each.votes for stage in terms_of(stored(request).terms).stages for each in stage.groups)


def test_a_last_vote_that_waits_for_advice_is_counted_by_what_the_advice_says(voters, reviewer):
    request = of_two(voters)
    with transaction.atomic():
        advise(request, reviewer)
        voting = Act(lambda: vote(request, voters[1])).begun()
        voting.until_it_waits()
    assert voting.ended().decision is None
    assert (stored(request).status, progress_of(request)) == (Status.PENDING, "2 of 3")
    assert vote(request, voters[2]).decision.by_name == "frank"


def test_advice_that_waits_for_the_last_vote_comes_too_late(voters, reviewer):
    request = of_two(voters)
    with transaction.atomic():
        vote(request, voters[1])
        advising = Act(lambda: advise(request, reviewer)).begun()
        advising.until_it_waits()
    assert isinstance(advising.ended(), AlreadyDecided)
    assert (stored(request).status, needed(request), stored(request).advised) == (Status.APPROVED, 2, None)


def test_no_request_is_ever_decided_with_fewer_votes_than_it_needs(voters, reviewer):
    second = key_of(make_person("grace", "view_approvalrequest"))
    outcomes = set()
    for _ in range(15):
        request = of_two(voters)
        results = race(
            lambda request=request: vote(request, voters[1]),
            lambda request=request: advise(request, reviewer),
            lambda request=request: vote(request, voters[2]),
            lambda request=request: advise(request, second),
        )
        assert failures(results, AlreadyDecided) == []
        now, approvals = stored(request), [verdict for _name, verdict in votes_of(request)]
        advised = now.advised or 0
        assert needed(request) == 2 + advised
        if now.status == Status.APPROVED:
            assert len(approvals) >= needed(request)
            entries = AuditEntry.objects.filter(request_id=request.pk).order_by("pk").values_list("event", flat=True)
            assert [*entries][-1] == "request.decided"
        else:
            assert (now.status, len(approvals) < needed(request)) == (Status.PENDING, True)
        outcomes.add((now.status, advised))
    assert outcomes <= {(status, advised) for status in (Status.APPROVED, Status.PENDING) for advised in (0, 1, 2)}
