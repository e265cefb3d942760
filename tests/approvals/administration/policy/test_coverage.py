"""A rule that no call reaches, because one above it takes all of its calls."""

from __future__ import annotations

import pytest

from approvals.administration.rules.coverage import covering
from approvals.policy.policies import policy_of, stored_form
from tests.approvals.policy.writing import DIRECTORY


def covers(first: dict, second: dict) -> bool:
    rules = [{"name": "a", "then": "ask"} | first, {"name": "b", "then": "ask"} | second]
    policy = policy_of(stored_form({"rules": rules}, DIRECTORY))
    return covering(policy.rules, 1) == 0


def tools(*names: str, **more: object) -> dict:
    return {"match": {"tools": list(names)}} | more


def on(**test: object) -> dict:
    return {"match": {"tools": ["pay"], "input": [{"pointer": "/amount", **test}]}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({}, tools("pay")),
        (tools("p*"), tools("PAY*", "pay")),
        (tools("*y*"), tools("*pay*")),
        (tools("pay", then="allow"), tools("pay")),
        (tools("pay"), on(at_least=10)),
        (tools("pay", when="input.a == 1"), tools("pay", when="input.a == 1")),
        (on(at_least=10), on(at_least=10)),
        (on(at_least=10), on(at_least=11, at_most=20)),
        (on(at_most=50), on(type="amount", at_most=20)),
        (on(type="amount", at_least=10), on(at_least=11)),
        (on(at_least=1), on(equals=2)),
        (on(at_least=10), on(more_than=10)),
        (on(more_than=10), on(more_than=10, type="amount")),
        (on(at_most=10), on(less_than=10)),
        (on(type="line"), on(type="line", equals="x")),
        (on(starts_with="/a"), on(starts_with="/ab")),
        (on(like="*@x.com"), on(like="a@x.com")),
        ({"match": {"kinds": ["question", "form"]}}, {"match": {"kinds": ["form"]}}),
        ({"match": {"priorities": ["low", "high"]}}, {"match": {"priorities": ["high"]}}),
    ],
)
def test_a_rule_takes_the_calls_of_a_narrower_one(first, second):
    assert covers(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (tools("pay"), {}),
        (tools("*"), {}),
        (tools("pay"), tools("pay*")),
        (tools("pay*b"), tools("pay*")),
        (tools("pay"), tools("pay", "refund")),
        ({"then": "allow"}, {}),
        (tools("pay", when="input.a == 1"), tools("pay")),
        (on(at_least=10), tools("pay")),
        (on(at_least=10), on(at_least=9)),
        (on(more_than=10), on(at_least=10)),
        (on(less_than=10), on(at_most=10)),
        (on(less_than=10), on(less_than=-1)),
        (on(at_most=50), on(at_least=-1, at_most=20)),
        (on(type="amount"), on(at_most=-1)),
        (on(one_of=[1, 2]), on(one_of=[2, 3])),
        (on(equals=1), on(equals=True)),
        (on(like="a*"), on(like="*a")),
        (on(type="line"), on(starts_with="x")),
        ({"match": {"agents": ["a"]}}, {"match": {"tools": ["a"]}}),
    ],
)
def test_other_rules_still_get_calls(first, second):
    assert not covers(first, second)
