"""Random requests under a policy, and whether a replay of that policy gives the live result of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.actions.policy.asks import answer_of, priority_of
from approvals.asking.asks import Ask
from approvals.db.prepared_writes import Insert
from approvals.models import ApprovalRequest, Workflow
from approvals.policy.rules import PolicyVerdict, Requester, RuleFacts, evaluate
from approvals.queries.policy.rules.facts import requester_of, rule_facts
from approvals.queries.policy.rules.policy_versions import live_version, rules_of
from approvals.queries.policy.rules.replay import judged
from approvals.states import CLIENT, OUTCOMES, Kind, Priority, Status
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
#: The requests of `store_at_random` are of so many days, and so many of them are stored with one statement.
DAYS, AT_ONCE = 30, 100
REQUESTS = Insert(ApprovalRequest)

#: The requester, and the arguments of `call`.
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
    minutes = DAYS * 24 * 60
    store([(each, now - timedelta(minutes=moments.randrange(1, minutes))) for each in random_calls(number, seed)])


def store(calls: Iterable[tuple[Asked, datetime]]) -> None:
    """Store requests with the live policy's result at their moment, in one workflow per requester.

    They are rows with only the columns that a replay evaluates: no one is notified, and nothing is recorded.
    """
    version = live_version()
    rules, workflow_of, requester = rules_of(version.number, version.digest), cache(_workflow_of), cache(requester_of)
    rows = []
    for (asker, wanted), moment in calls:
        asked, workflow = call(**wanted), workflow_of(asker)
        verdict = evaluate(rules, _facts(asked, workflow, moment, partial(requester, asker)))
        rows.append(_columns(asked, workflow, moment, verdict) | {"policy_version": version.number})
    for begin in range(0, len(rows), AT_ONCE):
        REQUESTS.rows(rows[begin : begin + AT_ONCE])


def _facts(asked: Ask, workflow: Workflow, moment: datetime, who: Callable[[], Requester]) -> RuleFacts:
    return rule_facts(
        agent=workflow.agent,
        tool=asked.tool_name,
        kind=asked.kind,
        source=workflow.source,
        requester=workflow.owner_id,
        on_behalf_of="",
        priority=asked.priority,
        value=asked.input,
        context=asked.context,
        at=moment,
        who=who,
    )


def _columns(asked: Ask, workflow: Workflow, moment: datetime, verdict: PolicyVerdict) -> dict[str, Any]:
    answer, priority = answer_of(verdict), priority_of(verdict, asked)
    return {
        "id": uuid4(),
        "workflow_id": workflow.pk,
        "agent": workflow.agent,
        "requested_by_id": workflow.owner_id,
        "kind": asked.kind,
        "title": asked.title,
        "tool_name": asked.tool_name,
        "input": asked.input,
        "context": asked.context,
        "priority": priority,
        "asked_priority": None if priority == asked.priority else asked.priority,
        "status": Status.PENDING if answer is None else OUTCOMES[answer.verdict],
        "rule": None if verdict.rule is None else verdict.rule.name,
        "other_rules": [rule.name for rule in verdict.others] or None,
        "created_at": moment,
    }


def _workflow_of(asker: User) -> Workflow:
    return Workflow.objects.create(key=str(uuid4()), title="?", source=CLIENT, owner=asker, agent="billing")


def differences() -> list[Any]:
    """Return the requests about which a replay of the live policy says something other than it said when they were asked."""
    columns = ApprovalRequest.objects.values_list("pk", "status", "rule", "other_rules", "policy_version")
    asked = {pk: _said(*said) for pk, *said in columns}
    live = live_version()
    wrong, replayed = [], 0
    since = timezone.now() - timedelta(days=DAYS + 1)
    for row, verdict in judged(
        rules_of(live.number, live.digest), standing_of(administrator()), since=since, most=10**6
    ):
        replayed += 1
        now = (verdict.then.value, [rule.name for rule in verdict.rules], live.number)
        if asked[row.pk] != now:
            wrong.append((row, asked[row.pk], now))
    assert replayed == len(asked)
    return wrong


def _said(status: str, rule: str | None, others: list[str] | None, version: int) -> tuple[str, list[str], int]:
    """The policy's result for a request: the effect, its rules, and the version."""
    then = {Status.APPROVED: "allow", Status.REJECTED: "deny", Status.PENDING: "ask"}[Status(status)]
    return then, [*([rule] if rule else []), *(others or [])], version
