"""Changing the type of one value never lets through a call that a rule asks about or denies, nor weakens the terms."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from approvals.policy.conditions.expressions import StepBudget
from approvals.policy.grant_bars import bar_of
from approvals.policy.rules import Policy, PolicyVerdict, RuleFacts, Then, evaluate
from approvals.states import Control, Kind, Priority
from tests.approvals.policy.writing import facts, is_at_least, policy

#: Values of each JSON type.
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "number": st.integers(0, 9) | st.sampled_from([2.5, 5.0, 10_000]),
    "text": st.sampled_from(["", "a", "ab", "b", "5", "true", "null"]),
    "list": st.lists(st.sampled_from(["a", "b", 5, None, True]), max_size=2),
    "object": st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b", 5, None]), max_size=2),
}
INPUTS = st.fixed_dictionaries(
    {},
    optional={
        "amount": st.sampled_from([0, 4, 5, 5.0, 50_000]),
        "urgent": st.booleans(),
        "to": st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3),
        "card": st.fixed_dictionaries(
            {}, optional={"kind": st.sampled_from(["a", "b", "ab"]), "limit": st.integers(0, 9)}
        ),
        "note": st.none(),
    },
)
#: Where a value stands, and the type that it has.
PLACES = {
    ("amount",): "number",
    ("urgent",): "boolean",
    ("to",): "list",
    ("to", 0): "text",
    ("card",): "object",
    ("card", "kind"): "text",
    ("card", "limit"): "number",
    ("note",): "null",
}
TESTS = [
    {"pointer": "/amount", "at_most": 5},
    {"pointer": "/amount", "more_than": 4},
    {"pointer": "/amount", "less_than": 5},
    {"pointer": "/amount", "at_least": 5, "at_most": 100},
    {"pointer": "/amount", "equals": 5},
    {"pointer": "/urgent", "equals": True},
    {"pointer": "/urgent", "one_of": [True, False]},
    {"pointer": "/to", "equals": ["a", "b"]},
    {"pointer": "/to/0", "one_of": ["a", "ab"]},
    {"pointer": "/to/1", "starts_with": "a"},
    {"pointer": "/card", "equals": {"kind": "a"}},
    {"pointer": "/card/kind", "like": "a*"},
    {"pointer": "/card/limit", "at_least": 3},
    {"pointer": "/card/gone", "equals": 1},
    {"pointer": "/note", "equals": None},
]
CONDITIONS = [
    "input.amount < 5",
    "input.amount == 5",
    "input.amount != 5",
    "!(input.amount == 5)",
    "has(input.amount) && input.amount in [4, 5, 6]",
    "!has(input.amount)",
    "has(input.urgent) && input.urgent",
    "has(input.urgent) && !input.urgent",
    "has(input.urgent) && input.urgent != true",
    'has(input.to) && input.to.all(each, each.startsWith("a"))',
    'has(input.to) && input.to.exists(each, each == "b")',
    'has(input.to) && input.to.exists_one(each, each != "b")',
    'has(input.to) && "b" in input.to',
    'has(input.to) && !("b" in input.to)',
    'has(input.to) && input.to != ["a", "b"]',
    'has(input.to) && input.to[0] == "a"',
    'has(input.card) && input.card == {"kind": "a"}',
    "has(input.card) && has(input.card.kind)",
    "has(input.card) && !has(input.card.kind)",
    'has(input.card) && keys(input.card).all(name, name in ["kind"])',
    'has(input.card) && has(input.card.kind) && input.card.kind in ["a", "b"]',
    'has(input.card) && has(input.card.kind) && !(input.card.kind in ["a", "b"])',
    "has(input.card) && has(input.card.limit) && has(input.amount) && input.card.limit < input.amount",
    "has(input.note) && input.note == null",
]
STAGES = [{"groups": [{"teams": ["finance"]}]}, {"groups": [{"teams": ["security"], "votes": 2}]}]
ASKS = st.fixed_dictionaries(
    {},
    optional={
        "stages": st.lists(st.sampled_from(STAGES), min_size=1, max_size=2),
        "with_requester": st.booleans(),
        "veto": st.booleans(),
        "reason": st.sampled_from(["rejection", "always"]),
        "typed_name": st.booleans(),
        "fresh_sign_in": st.booleans(),
        "priority": st.sampled_from(["low", "high"]),
        "deadline": st.fixed_dictionaries(
            {"after": st.sampled_from([60, 600]), "then": st.sampled_from(["reject", "default", "halt"])}
        ),
    },
)


@st.composite
def rules(draw) -> dict[str, Any]:
    tests = draw(st.lists(st.sampled_from(TESTS), max_size=2))
    conditions = draw(st.lists(st.sampled_from(CONDITIONS), max_size=2))
    joint = draw(st.sampled_from([" && ", " || "]))
    return (
        {"then": draw(st.sampled_from(["allow", "deny", "ask"]))}
        | ({"match": {"input": tests}} if tests else {})
        | ({"when": joint.join(f"({each})" for each in conditions)} if conditions else {})
        | draw(st.fixed_dictionaries({}, optional={"ask": ASKS}))
    )


@given(st.lists(rules(), max_size=4), st.booleans(), INPUTS, st.sampled_from([*PLACES]), st.data())
def test_a_value_of_another_type_never_lets_more_through(written, four_eyes, value, place, data):
    assume(is_there(value, place))
    # Without objects that occur twice.
    made = policy(*json.loads(json.dumps(written)), four_eyes=four_eyes)
    assume(is_certain(made, facts(value)))
    other = data.draw(st.sampled_from([name for name in BY_TYPE if name != PLACES[place]]))
    changed = replaced(value, place, data.draw(BY_TYPE[other]))
    before, after = evaluate(made, facts(value)), evaluate(made, facts(changed))
    assert is_no_weaker(after, before)


def is_there(value: Any, place: tuple[str | int, ...]) -> bool:
    return place[0] in value and (len(place) == 1 or place[1] == 0 or place[1] in value[place[0]])


def is_certain(made: Policy, known: RuleFacts) -> bool:
    """Return whether every rule surely matches, or surely does not."""
    return None not in {rule.matches(known, StepBudget()) for rule in made.rules_for(known.match)}


def replaced(value: dict[str, Any], place: tuple[str | int, ...], held: Any) -> dict[str, Any]:
    changed = deepcopy(value)
    *path, last = place
    owner: Any = changed
    for part in path:
        owner = owner[part]
    owner[last] = held
    return changed


def takes_grants(verdict: PolicyVerdict) -> bool:
    return bar_of(Kind.APPROVAL, Priority.NORMAL, "refund", verdict=verdict) is None


def is_no_weaker(after: PolicyVerdict, before: PolicyVerdict) -> bool:
    if before.then == Then.ALLOW or after.then == Then.DENY:
        return True
    if after.then == Then.ALLOW:
        return False
    if before.then == Then.DENY:
        return True
    keeps_out = after.control == Control.FOUR_EYES or before.control is None
    no_more_grants = takes_grants(before) or not takes_grants(after)
    # Whether the requester may decide is said by `control` alone.
    asked, was_asked = (replace(verdict.asking, with_requester=False) for verdict in (after, before))
    return keeps_out and no_more_grants and is_at_least(asked, was_asked)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("held", [None, True, 5, "a", ["a"], {"kind": "a"}])
def test_a_match_says_yes_or_no_of_one_type_alone(test, held):
    """Of other types it could match; so a deny whose own rule could match becomes an ask."""
    name, *deeper = test["pointer"].split("/")[1:]
    place = (name, *(int(part) if part.isdecimal() else part for part in deeper))
    value = {name: held} if not deeper else {name: [held] * 2 if name == "to" else {deeper[0]: held}}
    expected = {"number": (int, float), "boolean": bool, "text": str, "list": list, "object": dict, "null": type(None)}
    right = isinstance(held, expected[PLACES.get(place, "text" if place == ("to", 1) else "number")])
    right = right and not (isinstance(held, bool) and place not in {("urgent",)})
    then = evaluate(policy({"match": {"input": [test]}, "then": "deny"}, {"then": "allow"}), facts(value)).then
    assert (then == Then.ASK) is not right
