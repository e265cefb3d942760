"""Requests asked at random under a policy, and whether a replay of that policy says of each what it said live."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.actions.policy.judging import answer_of, fields_of, judge, priority_of
from approvals.asking.asks import URGENCY, Ask
from approvals.models import ApprovalRequest, Workflow
from approvals.queries.policy.replay import judged
from approvals.queries.policy.ruling import live_version, rules_of
from approvals.queries.preferences import rules_for_asking
from approvals.states import CLIENT, OUTCOMES, Kind, Priority, Status
from approvals.text.canonical_names import fold
from tests.approvals.actions.policy.granting import ask, call
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
#: The requests of `store_at_random` are of so many days.
DAYS = 30

#: Who asks, and the call: the arguments of `call`.
Asked = tuple[User, Mapping[str, Any]]


def random_calls(number: int, seed: int = 7) -> Iterator[Asked]:
    """Make different calls under a policy, so that every rule fits some of them and some cannot be evaluated."""
    choose, asker, other = random.Random(seed), alice(), make_person("eve")  # noqa: S311
    other.groups.create(name="support")
    apply_policy(*RULES, four_eyes=True)
    for _ in range(number):
        value = {"amount": choose.choice([1, 2, 40, 400, 400.5, "400", None])}
        value |= {"note": "T-1"} if choose.random() < 0.5 else {}
        value = {} if choose.random() < 0.1 else value
        yield (
            choose.choice([asker, other]),
            {
                "value": value,
                "tool": choose.choice(["refund", "wire", "WIRE_money", ""]),
                "kind": choose.choice([Kind.APPROVAL, Kind.APPROVAL, Kind.QUESTION]),
                "priority": choose.choice(list(Priority)),
                "context": choose.choice([None, {"ticket": "T-1"}, {"ticket": 1}, "text"]),
            },
        )


def ask_at_random(number: int, seed: int = 7) -> list[Asked]:
    """Ask for random calls, as a program does, and return them."""
    calls = list(random_calls(number, seed))
    for asker, wanted in calls:
        ask(asker, **wanted)
    return calls


def store_at_random(number: int, seed: int = 7) -> None:
    """Store requests for random calls of the last days, at any hour, as if each had been asked then: see `store`."""
    moments, now = random.Random(seed), timezone.now()  # noqa: S311
    calls = random_calls(number, seed)
    store((each, now - timedelta(minutes=moments.randrange(1, DAYS * 24 * 60))) for each in calls)


def store(calls: Iterable[tuple[Asked, datetime]]) -> Sequence[ApprovalRequest]:
    """Store requests with what the live policy says of each at its moment, all in a few statements.

    They are no more than the rows of requests: no one is told of them, and nothing is recorded.
    """
    known = cache(rules_for_asking)
    requests = []
    for (asker, wanted), moment in calls:
        requested = call(**wanted)
        workflow = Workflow(scope="key:1", key=str(uuid4()), title="?", source=CLIENT, owner=asker, agent="billing")
        rules = known(requested.tool_name, asker.pk)
        verdict = judge(rules, requested, workflow, by=asker, now=moment)
        answer = answer_of(verdict)
        priority = priority_of(verdict, requested)
        requests.append(
            ApprovalRequest(
                **_columns(requested),
                **fields_of(verdict, rules, requested, moment),
                workflow=workflow,
                scope=workflow.scope,
                agent=workflow.agent,
                priority=priority,
                urgency=URGENCY[priority],
                requested_by=asker,
                status=Status.PENDING if answer is None else OUTCOMES[answer.verdict],
                created_at=moment,
            )
        )
    Workflow.objects.bulk_create([request.workflow for request in requests])
    return ApprovalRequest.objects.bulk_create(requests)


def _columns(requested: Ask) -> dict[str, Any]:
    same = ("kind", "title", "tool_name", "context", "words")
    columns = {name: getattr(requested, name) for name in same}
    return columns | {"input": dict(requested.input), "canonical_tool": fold(requested.tool_name)}


def differences() -> list[Any]:
    """Return the requests about which a replay of the live policy says something other than it said when they were asked."""
    requests = {request.pk: request for request in ApprovalRequest.objects.all()}
    [version] = {request.policy_version for request in requests.values()}
    rules = rules_of(version, live_version().digest)
    wrong, replayed = [], 0
    for row, verdict in judged(rules, administrator(), since=timezone.now() - timedelta(days=DAYS + 1), most=10**6):
        replayed += 1
        request = requests[row.pk]
        was = {"approved": "allow", "rejected": "deny", "pending": "ask"}[request.status]
        live = (was, [request.rule] * (request.rule is not None) + (request.other_rules or []))
        now = (verdict.then.value, [rule.name for rule in verdict.rules])
        if live != now:
            wrong.append((row, live, now))
    assert replayed == len(requests)
    return wrong
