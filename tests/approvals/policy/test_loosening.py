"""Loosening changes, by tables; and that all other changes never let through more than before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.loosening import (
    lists_loosen,
    mapping_loosens,
    policy_loosens,
    priorities_loosen,
    scope_loosens,
    teams_loosen,
    tool_loosens,
    voters_of,
)
from approvals.policy.rules import PolicyVerdict, Then, evaluate
from approvals.policy.terms import Terms
from approvals.states import Control
from tests.approvals.policy.writing import facts, policy

ALLOW, DENY, ASK = ({"name": then, "then": then} for then in ("allow", "deny", "ask"))
WIRE = {"match": {"tools": ["wire"]}}
FINANCE = [{"groups": [{"teams": [5]}]}]
BOTH = [*FINANCE, {"groups": [{"teams": [6], "votes": 2}]}]


def asking(**ask: Any) -> dict[str, Any]:
    return ASK | {"ask": ask}


#: The rules before, those after, and whether that loosens.
RULES = [
    ([], [], False),
    ([], [ALLOW], True),
    ([], [DENY], False),
    ([], [DENY | {"when": "input.amount > 5"}], True),
    ([ALLOW], [DENY | WIRE, ALLOW], False),
    ([asking(stages=FINANCE)], [DENY | WIRE | {"when": "true"}, asking(stages=FINANCE)], True),
    ([DENY, ALLOW], [ALLOW], True),
    ([DENY, ALLOW], [ALLOW, DENY], True),
    ([ALLOW], [], True),
    ([ALLOW], [DENY], False),
    ([ALLOW | {"when": "input.amount < 5"}], [DENY], True),
    ([ALLOW], [ASK], True),
    ([ASK], [DENY], True),
    ([ASK | {"match": {"kinds": ["approval"]}}], [DENY | {"match": {"kinds": ["approval"]}}], False),
    ([ALLOW], [ALLOW | {"name": "Small", "message": "Fine."}], False),
    ([ALLOW | WIRE], [ALLOW], True),
    # What no one has said is harmless is not.
    ([ALLOW | {"another": 1}], [ALLOW | {"another": 2}], True),
    ([ALLOW | {"when": "input.amount < 5"}], [ALLOW | {"when": "input.amount < 50"}], True),
    ([ALLOW | {"match": {"input": [{"pointer": "/force", "equals": 1}]}}],
     [ALLOW | {"match": {"input": [{"pointer": "/force", "equals": True}]}}], True),
    # A rule behind all others may ask for more, but not for less.
    ([ALLOW | WIRE], [ALLOW | WIRE, asking(stages=FINANCE)], False),
    ([ALLOW | WIRE], [asking(stages=FINANCE), ALLOW | WIRE], True),
    ([], [asking(with_requester=True)], True),
    ([], [asking(key_fields=["/fee"])], True),
    ([], [asking(priority="low")], True),
    ([], [asking(deadline={"after": 60, "then": "reject"})], False),
    ([], [asking(deadline={"after": 60, "then": "default"})], True),
    # The terms of a rule.
    ([asking(veto=True)], [ASK], True),
    ([ASK], [asking(veto=True, typed_name=True, fresh_sign_in=True)], False),
    ([ASK], [asking(with_requester=True)], True),
    ([asking(with_requester=True)], [ASK], False),
    ([asking(reason="always")], [asking(reason="rejection")], True),
    ([asking(reason="rejection")], [asking(reason="always")], False),
    ([ASK], [asking(stages=FINANCE)], False),
    ([asking(stages=FINANCE)], [ASK], True),
    ([asking(stages=FINANCE)], [asking(stages=[{"groups": [{"teams": [5], "votes": 2}]}])], False),
    ([asking(stages=[{"groups": [{"teams": [5], "votes": 2}]}])], [asking(stages=FINANCE)], True),
    ([asking(stages=FINANCE)], [asking(stages=[{"groups": [{"teams": [5], "votes": 1}]}])], False),
    ([asking(stages=[{"groups": [{"teams": [5], "votes": 1}]}])], [asking(stages=FINANCE)], False),
    ([asking(stages=FINANCE)], [asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}]}])], True),
    ([asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}]}])], [asking(stages=FINANCE)], True),
    ([asking(stages=FINANCE)], [asking(stages=[{"groups": [{"teams": [6]}]}])], True),
    ([asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6], "votes": 2}]}])],
     [asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}]}])], True),
    ([asking(stages=BOTH)], [asking(stages=BOTH)], False),
    ([asking(stages=BOTH)], [asking(stages=[*FINANCE, {"groups": [{"teams": [6]}]}])], True),
    ([asking(stages=BOTH)], [asking(stages=[*reversed(BOTH)])], True),
    ([asking(stages=BOTH)], [asking(stages=FINANCE)], True),
    ([asking(stages=FINANCE)], [asking(stages=[{"groups": [{"teams": [5], "people": [7]}]}])], True),
    ([asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}]}])],
     [asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}], "any": True}])], True),
    ([asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}], "any": True}])],
     [asking(stages=[{"groups": [{"teams": [5]}, {"teams": [6]}]}])], True),
    ([asking(stages=[{"groups": [{"teams": [5]}], "any": False}])], [asking(stages=FINANCE)], False),
    ([asking(deadline={"after": 60, "then": "reject"})], [asking(deadline={"after": 90, "then": "reject"})], True),
    ([asking(key_fields=["/amount"])], [asking(key_fields=["/fee"])], True),
    ([ASK], [asking(reminders=[60], channels=["mail"])], False),
    ([ASK], [asking(escalation=[{"after": 60, "teams": [5]}], working_hours=True)], False),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "loosens"), RULES)
def test_a_policy_loosens_unless_it_is_surely_as_strict(before, after, loosens):
    assert policy_loosens({"rules": before}, {"rules": after}) is loosens


@pytest.mark.parametrize("switch", ["four_eyes", "repeat_rejections"])
def test_switching_a_safeguard_of_the_policy_off_loosens_and_on_does_not(switch):
    assert policy_loosens({switch: True}, {switch: False}) is True
    assert policy_loosens({switch: True}, {}) is True
    assert policy_loosens({}, {switch: True}) is False


MATCHES = st.sampled_from([{}, {"tools": ["refund"]}, {"tools": ["wire"]}, {"kinds": ["approval"]}])
STAGES = st.sampled_from(
    [[{"groups": [{"teams": [team], "votes": votes}]}] for team in (5, 6) for votes in (1, 2)] + [None]
)
FLAGS = ("veto", "typed_name", "fresh_sign_in", "with_requester")
ASKS = st.builds(
    lambda flags, reason, stages: {
        **dict.fromkeys(flags, True),
        **({"reason": reason} if reason else {}),
        **({"stages": stages} if stages else {}),
    },
    st.sets(st.sampled_from(FLAGS)),
    st.sampled_from(["", "rejection", "always"]),
    STAGES,
)


@st.composite
def rules(draw: Any) -> dict[str, Any]:
    rule = {"match": draw(MATCHES), "then": draw(st.sampled_from(["allow", "deny", "ask"]))}
    if draw(st.booleans()):
        rule["when"] = draw(st.sampled_from(["input.amount < 50", "input.missing == 1"]))
    if rule["then"] == "ask" and draw(st.booleans()):
        rule["ask"] = draw(ASKS)
    return rule


@st.composite
def changed(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy, and a copy with some different rules."""
    before = draw(st.lists(rules(), max_size=3))
    after = [
        draw(st.one_of(st.just(rule), rules(), ASKS.map(lambda ask, rule=rule: rule | {"ask": ask}))) for rule in before
    ]
    for extra in draw(st.lists(rules(), max_size=2)):
        after.insert(draw(st.integers(0, len(after))), extra)
    after = [rule if rule["then"] == "ask" else {k: v for k, v in rule.items() if k != "ask"} for rule in after]
    switches = st.fixed_dictionaries({}, optional={"four_eyes": st.booleans()})
    return {"rules": before, **draw(switches)}, {"rules": after, **draw(switches)}


#: Whether each is at least as strict as the other, as a person compares them.
REASONS = (None, "rejection", "always")


def as_strict(before: PolicyVerdict, after: PolicyVerdict) -> bool:
    if before.then == Then.ALLOW or after.then == Then.DENY:
        return True
    if before.then == Then.DENY or after.then == Then.ALLOW:
        return False
    if before.control == Control.FOUR_EYES and after.control != Control.FOUR_EYES:
        return False
    old, new = before.asking.terms, after.asking.terms
    flags = all(getattr(new, name) or not getattr(old, name) for name in ("veto", "typed_name", "fresh_sign_in"))
    return flags and REASONS.index(new.reason) >= REASONS.index(old.reason) and votes_as_strict(old, new)


def votes_as_strict(old: Terms, new: Terms) -> bool:
    if not old.stages:
        return True
    if not new.stages:
        return False
    (before,), (after,) = old.stages[0].groups, new.stages[0].groups
    return before.teams == after.teams and after.votes >= before.votes


@given(changed(), st.sampled_from(["refund", "wire"]), st.sampled_from(["approval", "recovery"]),
       st.sampled_from(["normal", "critical"]), st.sampled_from([5, 500]))  # fmt: skip
def test_what_does_not_loosen_lets_nothing_through_that_was_held(pair, tool, kind, priority, amount):
    before, after = pair
    assert policy_loosens(before, before) is False
    if not policy_loosens(before, after):
        call = facts({"amount": amount}, tool=tool, kind=kind, priority=priority)
        verdicts = [evaluate(_compiled(stored), call) for stored in pair]
        assert as_strict(*verdicts), verdicts


def _compiled(stored: dict[str, Any]) -> Any:
    teams = {5: "finance", 6: "security"}
    written = []
    for rule in stored["rules"]:
        copy = {name: part for name, part in rule.items() if name != "ask"}
        if "ask" in rule:
            copy["ask"] = dict(rule["ask"])
            if "stages" in copy["ask"]:
                [stage] = copy["ask"]["stages"]
                [group] = stage["groups"]
                copy["ask"]["stages"] = [{"groups": [group | {"teams": [teams[group["teams"][0]]]}]}]
        written.append(copy)
    return policy(*written, **{name: value for name, value in stored.items() if name != "rules"})


SCOPE = {
    "name": "Refunds",
    "match": {"tools": ["refund"]},
    "may": "decide",
    "limit": 100.0,
    "people": [1],
    "teams": [5],
}


@pytest.mark.parametrize(
    ("before", "after", "others", "loosens"),
    [
        (None, SCOPE, False, False),
        (None, SCOPE, True, True),
        (SCOPE, None, True, False),
        (SCOPE, None, False, True),
        (SCOPE, SCOPE, True, False),
        (SCOPE, SCOPE | {"name": "Other"}, True, False),
        (SCOPE, SCOPE | {"limit": 50.0}, True, False),
        (SCOPE, SCOPE | {"limit": 101.0}, True, True),
        (SCOPE, SCOPE | {"limit": None}, True, True),
        (SCOPE | {"limit": None}, SCOPE, True, False),
        (SCOPE, SCOPE | {"may": "answer", "limit": None}, True, False),
        (SCOPE | {"may": "see", "limit": None}, SCOPE, True, True),
        (SCOPE, SCOPE | {"people": []}, True, False),
        (SCOPE, SCOPE | {"people": [1, 2]}, True, True),
        (SCOPE, SCOPE | {"teams": [6]}, True, True),
        (SCOPE, SCOPE | {"match": {"tools": ["refund", "wire"]}}, True, True),
        (SCOPE, SCOPE | {"match": {"tools": ["refund"], "agents": ["billing"]}}, True, True),
    ],
)
def test_a_scope_loosens_where_anyone_may_do_more(before, after, others, loosens):
    assert scope_loosens(before, after, others=others) is loosens


TOOL = {
    **{"key_fields": ["/amount"], "secret_fields": ["iban"], "reason_required": True, "min_priority": "high"},
    **{
        "control": "",
        "prepared_answers": [],
        "no_grants": False,
        "grant_width": 1,
        "grant_seconds": 3600,
        "grant_uses": 5,
    },
}


@pytest.mark.parametrize(
    ("change", "loosens"),
    [
        ({}, False),
        ({"prepared_answers": ["No."]}, False),
        ({"key_fields": ["/fee"]}, True),
        ({"key_fields": ["/amount", "/fee"]}, True),
        ({"secret_fields": []}, True),
        ({"secret_fields": ["iban", "pin"]}, False),
        ({"reason_required": False}, True),
        ({"min_priority": "normal"}, True),
        ({"min_priority": ""}, True),
        ({"min_priority": "critical"}, False),
        ({"control": "confirm"}, True),
        ({"control": "four_eyes"}, False),
        ({"no_grants": True}, False),
        ({"grant_width": 0}, False),
        ({"grant_width": 2}, True),
        ({"grant_width": None}, True),
        ({"grant_seconds": 60}, False),
        ({"grant_seconds": 7200}, True),
        ({"grant_seconds": None}, True),
        ({"grant_uses": 6}, True),
    ],
)
def test_settings_of_a_tool_loosen_where_less_is_asked(change, loosens):
    assert tool_loosens(TOOL, TOOL | change) is loosens


@pytest.mark.parametrize(("width", "loosens"), [(None, True), (0, False), (1, False), (2, False)])
def test_only_without_a_width_may_grants_be_wider_than_the_widest(width, loosens):
    assert tool_loosens(TOOL | {"grant_width": 2}, TOOL | {"grant_width": width}) is loosens


@pytest.mark.parametrize(("width", "loosens"), [(None, False), (0, False), (1, True), (2, True)])
def test_without_a_width_only_the_narrowest_is_surely_no_wider(width, loosens):
    assert tool_loosens(TOOL | {"grant_width": None}, TOOL | {"grant_width": width}) is loosens


@given(st.data())
def test_of_two_settings_of_a_tool_one_loosens_unless_they_are_as_strict(data):
    values = {
        "key_fields": [["/amount"], []],
        "secret_fields": [[], ["iban"]],
        "reason_required": [False, True],
        "min_priority": ["", "low", "critical"],
        "control": ["confirm", "", "four_eyes"],
        "no_grants": [False, True],
        "grant_width": [None, 0, 1, 2],
        "grant_seconds": [None, 60, 3600],
        "grant_uses": [None, 1, 2],
    }
    one, other = (
        TOOL | {name: data.draw(st.sampled_from(options)) for name, options in values.items()} for _ in range(2)
    )
    same = all(one[name] == other[name] for name in values)
    assert same or tool_loosens(one, other) or tool_loosens(other, one)
    assert tool_loosens(one, one) is False


LISTS = {"denied": ["rm"], "gated": ["mcp__*"], "allowed": ["Read"]}


@pytest.mark.parametrize(
    ("change", "loosens"),
    [
        ({}, False),
        ({"denied": []}, True),
        ({"denied": ["rm", "dd"]}, False),
        ({"gated": []}, True),
        ({"gated": [], "denied": ["rm", "mcp__*"]}, False),
        ({"gated": ["mcp__*", "Bash"]}, False),
        ({"allowed": []}, False),
        ({"allowed": ["Read", "Bash"]}, True),
    ],
)
def test_lists_of_a_key_loosen_where_more_is_left_to_the_agent(change, loosens):
    assert lists_loosen(LISTS, LISTS | change) is loosens


def test_lists_of_a_key_that_stay_as_they_are_loosen_nothing():
    for lists in (LISTS, LISTS | {"denied": []}, {name: [] for name in LISTS}):
        assert lists_loosen(lists, lists) is False


@pytest.mark.parametrize(
    ("joined", "left", "named", "read", "loosens"),
    [
        (set(), set(), {1}, True, False),
        ({1}, set(), {1}, False, True),
        ({2}, set(), {1}, False, False),
        (set(), {1}, {1}, False, False),
        ({2}, set(), {1}, True, True),
        (set(), {2}, {1}, True, True),
    ],
)
def test_joining_a_team_loosens_if_it_votes_or_is_in_a_scope(joined, left, named, read, loosens):
    assert teams_loosen(joined, left, named=named, read=read) is loosens


def test_fewer_priorities_that_need_a_message_loosen():
    assert priorities_loosen(["high"], ["high"]) is False
    assert priorities_loosen(["high"], ["high", "critical"]) is False
    assert priorities_loosen(["high", "critical"], ["high"]) is True


def test_those_who_vote_under_a_policy_are_the_people_and_teams_of_all_groups():
    stages = [{"groups": [{"teams": [5]}, {"people": [1, 2]}]}, {"groups": [{"people": [2], "teams": [6]}]}]
    assert voters_of({"rules": [ALLOW, asking(stages=stages), asking(stages=FINANCE)]}) == ({1, 2}, {5, 6})
    assert voters_of({"rules": [ALLOW, ASK]}) == voters_of({}) == (set(), set())


@pytest.mark.parametrize(
    ("added", "others", "loosens"),
    [(True, True, True), (True, False, True), (False, False, True), (False, True, False)],
)
def test_a_mapping_of_groups_loosens_if_it_gives_more_or_no_longer_takes_anything_away(added, others, loosens):
    assert mapping_loosens(added=added, others=others) is loosens
