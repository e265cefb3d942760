"""A replay gives a policy's results for past requests, first those it would have allowed although a person rejected them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest
from approvals.policy.rules import Then
from approvals.queries.policy.rules.replay import Worry, replay
from approvals.states import Door, Verdict
from tests.approvals.actions.policy.granting import approve, ask
from tests.approvals.policy.writing import policy
from tests.support.desk.replaying import ask_at_random, differences, store
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

SMALL = {"name": "Small", "when": "input.amount < 500", "then": "allow"}
REST = {"name": "Rest", "then": "deny"}


def reject(request: ApprovalRequest, by) -> None:
    actions.decide(request.pk, Answer(Verdict.REJECT), by=by, via=Door.DASHBOARD)


def test_what_it_would_have_allowed_and_a_person_rejected_comes_first():
    asker, decider = alice(), bob()
    approved, rejected, large = (ask(asker, {"amount": amount}) for amount in (1, 2, 900))
    approve(approved, decider)
    reject(rejected, decider)
    approve(large, decider)
    done = replay(policy(SMALL, REST), standing_of(administrator()), days=7)
    assert (done.total, done.complete) == (3, True)
    assert {name: count.then for name, count in done.rules.items()} == {
        "Small": {"allow": 2},
        "Rest": {"deny": 1},
        None: {},
    }
    assert [(worry, [case.pk for case in cases]) for worry, cases in done.cases.items()] == [
        (Worry.DENIED_APPROVED, [large.pk]),
        (Worry.ALLOWED_REJECTED, [rejected.pk]),
    ]
    assert (done.saved.requests, done.saved.seconds > 30, done.net) == (3, True, done.saved.seconds)


def test_what_is_asked_again_and_by_more_people_takes_time():
    asker, decider = alice(), bob()
    apply_policy({"name": "All", "then": "allow"})
    ask(asker)
    apply_policy()
    approve(ask(asker), decider)
    twice = {"stages": [{"groups": [{"votes": 2}, {"votes": 1}]}]}
    done = replay(policy({"then": "ask", "ask": twice}), standing_of(administrator()), days=7)
    seconds = done.added.seconds / (3 + 2)
    assert (done.saved.requests, done.worries, seconds > 10) == (0, {Worry.ASKED_AGAIN: 1}, True)
    assert (done.added.requests, done.net) == (2, -done.added.seconds)


@pytest.mark.parametrize(("joined", "more"), [({}, 4), ({"any": True}, 1)])
def test_of_groups_joined_by_or_only_the_time_of_the_fewest_people_is_added(joined, more):
    approve(ask(alice()), bob())
    stage = {"groups": [{"votes": 2}, {"votes": 3}]}
    done = replay(policy({"then": "ask", "ask": {"stages": [stage | joined]}}), standing_of(administrator()), days=7)
    one = replay(policy({"then": "allow"}), standing_of(administrator()), days=7).saved.seconds
    # One person has decided it as it was.
    assert (done.added.requests, done.added.seconds) == (1, one * more)


def test_what_an_earlier_no_answered_counts_as_denied_while_the_policy_repeats_rejections():
    asker, decider = alice(), bob()
    apply_policy(repeat_rejections=True)
    reject(ask(asker), decider)
    ask(asker)
    found = [
        (done.of(Then.DENY), done.of(Then.ASK), dict(done.worries))
        for done in (
            replay(policy(**more), standing_of(administrator()), days=7) for more in ({"repeat_rejections": True}, {})
        )
    ]
    assert found == [(1, 1, {}), (0, 2, {Worry.ASKED_AGAIN: 1})]


def test_it_is_bounded_by_days_by_number_and_by_what_one_may_see():
    asker = alice()
    for _number in range(3):
        ask(asker)
    ApprovalRequest.objects.update(created_at=timezone.now() - timedelta(days=3))
    ask(asker)
    rules, person = policy(SMALL), administrator()
    totals = [
        (each.total, each.complete)
        for each in (replay(rules, standing_of(person), days=1), replay(rules, standing_of(person), days=7, most=2))
    ]
    assert totals == [(1, True), (2, False)]
    assert replay(rules, standing_of(make_person("mallory")), days=7).total == 0


#: The facts that a replay evaluates, and the policy's results.
COLUMNS = (
    "created_at", "kind", "title", "agent", "tool_name", "workflow__source", "requested_by_id", "priority",
    "asked_priority", "input", "context", "repeats", "attachments", "policy_version", "rule", "other_rules", "status",
)  # fmt: skip


def test_a_replay_says_what_the_live_policy_said():
    calls = ask_at_random(100)
    assert differences() == []
    asked = list(ApprovalRequest.objects.order_by("created_at").values(*COLUMNS))
    assert {row["rule"] for row in asked} >= {"Wire", "Low", "Context"}
    # Requests that are stored without being asked, for tests with many of them, are the same to a replay.
    known = set(ApprovalRequest.objects.values_list("pk", flat=True))
    store(zip(calls, [row["created_at"] for row in asked], strict=True))
    rows = ApprovalRequest.objects.exclude(pk__in=known).order_by("created_at").values(*COLUMNS)
    assert list(rows) == asked
