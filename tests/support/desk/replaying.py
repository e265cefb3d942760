"""Requests asked at random under a policy, and whether a replay of that policy says of each what it said live."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.queries.policy.replay import judged
from approvals.queries.policy.ruling import live_version, rules_of
from approvals.states import Kind, Priority
from tests.approvals.actions.policy.granting import ask
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.people import alice, make_person

RULES = [
    {"name": "Wire", "match": {"tools": ["wire*"]}, "when": "input.amount > 300", "then": "deny"},
    {"name": "Night", "when": "hour < 6 && has(input.note)", "then": "ask", "ask": {"priority": "high"}},
    {
        "name": "Low",
        "when": 'priority == "low"',
        "then": "ask",
        "ask": {"priority": "critical", "with_requester": True},
    },
    {"name": "Team", "when": '"support" in requester.teams && input.amount < 50', "then": "allow"},
    {"name": "Context", "when": "context.ticket == input.note", "then": "allow"},
    {"name": "Odd", "match": {"kinds": ["approval"]}, "when": "input.amount % 2 == 1", "then": "deny"},
]


def ask_at_random(number: int, seed: int = 7) -> None:
    """Ask different things under a policy, so that every rule fits some of them and some cannot be evaluated."""
    choose, asker, other = random.Random(seed), alice(), make_person("eve")  # noqa: S311
    other.groups.create(name="support")
    apply_policy(*RULES, four_eyes=True)
    for _ in range(number):
        value = {"amount": choose.choice([1, 2, 40, 400, 400.5, "400", None])}
        value |= {"note": "T-1"} if choose.random() < 0.5 else {}
        value = {} if choose.random() < 0.1 else value
        ask(
            choose.choice([asker, other]),
            value,
            tool=choose.choice(["refund", "wire", "WIRE_money", ""]),
            kind=choose.choice([Kind.APPROVAL, Kind.APPROVAL, Kind.QUESTION]),
            priority=choose.choice(list(Priority)),
            context=choose.choice([None, {"ticket": "T-1"}, {"ticket": 1}, "text"]),
        )


def differences() -> list[Any]:
    """Return the requests about which a replay of the live policy says something other than it said when they were asked."""
    requests = {request.pk: request for request in ApprovalRequest.objects.all()}
    [version] = {request.policy_version for request in requests.values()}
    rules = rules_of(version, live_version().digest)
    wrong, replayed = [], 0
    for row, verdict in judged(rules, administrator(), since=timezone.now() - timedelta(days=1), most=10**6):
        replayed += 1
        request = requests[row.pk]
        was = {"approved": "allow", "rejected": "deny", "pending": "ask"}[request.status]
        live = (was, [request.rule] * (request.rule is not None) + (request.other_rules or []))
        now = (verdict.then.value, [rule.name for rule in verdict.rules])
        if live != now:
            wrong.append((row, live, now))
    assert replayed == len(requests)
    return wrong
