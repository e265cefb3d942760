"""A policy of 200 rules, replayed over many requests, and what its rules add to an ask."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.actions.asking import ask_for_client
from approvals.actions.policy import write_policy
from approvals.asking.asks import Ask
from approvals.asking.origins import Origin
from approvals.policy.match import Facts
from approvals.policy.policies import policy_of
from approvals.policy.rules import Policy, Requester, RuleFacts, evaluate
from approvals.queries.policy.rules.replay import replay
from approvals.states import Door, Kind
from benchmarks.load.many_requests import fill

RULES = 200


def prepare(number: int) -> None:
    fill(number, asker=User.objects.get(username="requester"))


def policy() -> Policy:
    return policy_of({"rules": [_rule(number) for number in range(RULES)]})


def _rule(number: int) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "name": f"Rule {number}",
        "match": {"tools": [f"tool-{number}"]},
        "then": "ask",
    }
    if number % 10 == 0:
        rule["match"] = {"kinds": ["approval"]}
        rule["when"] = f'tool == "tool-{number}" && input.amount < {number}'
    return rule


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the times in ms of a replay of all requests, and of one evaluation."""
    person, rules = User.objects.get(username="approver"), policy()
    taken: dict[str, list[float]] = {"replay": [], "judge": []}
    for _round in range(rounds):
        began = time.perf_counter()
        done = replay(rules, standing_of(person), days=366)
        taken["replay"].append((time.perf_counter() - began) * 1000)
        assert done.total, "there are no requests"
    match = Facts(
        agent="billing",
        tool="refund",
        kind="approval",
        source="api",
        requester=1,
        input={"amount": 120},
    )
    for _round in range(1000):
        began = time.perf_counter()
        evaluate(
            rules,
            RuleFacts(
                match=match, at=timezone.now(), requester=lambda: Requester("alice")
            ),
        )
        taken["judge"].append((time.perf_counter() - began) * 1000)
    return taken | asks()


def asks(number: int = 500) -> dict[str, list[float]]:
    """Return the times in ms of asks that wait for a person, and of those that the last of 200 rules allows."""
    asker, root = (
        User.objects.get(username="requester"),
        User.objects.create_superuser("rules"),
    )
    taken: dict[str, list[float]] = {}
    for name in ("ask, waits", "ask, allowed"):
        if name == "ask, allowed":
            rules = [_rule(number) for number in range(RULES - 1)]
            rules.append(
                {
                    "name": "Last",
                    "match": {"tools": ["refund"]},
                    "when": "input.amount < 500",
                    "then": "allow",
                }
            )
            write_policy(
                {"rules": rules},
                based_on=None,
                reason="To measure.",
                by=root,
                via=Door.SYSTEM,
            )
        times = taken[name] = []
        for place in range(number):
            ask = Ask(
                kind=Kind.APPROVAL,
                title="Refund?",
                tool_name="refund",
                input={"amount": 120, "order": place},
            )
            began = time.perf_counter()
            asked = ask_for_client(
                ask, Origin(scope="key:1", digest="sha256:0", agent="billing"), by=asker
            ).request
            times.append((time.perf_counter() - began) * 1000)
            assert asked.pending == (name == "ask, waits")
    return taken
