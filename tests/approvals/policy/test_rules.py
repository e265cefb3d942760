"""The policy's result for a request: that of the first rule that fits, and at most an ask after an error."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.asks import PLAIN, Deadline
from approvals.policy.conditions.expressions import MAX_STEPS, Expression
from approvals.policy.grant_bars import Bar, bar_of
from approvals.policy.rules import MAX_KEPT, NO_POLICY, AskedBecause, Policy, PolicyVerdict, Requester, Then, evaluate
from approvals.policy.terms import OnExpire
from approvals.states import Control, Kind, Priority
from tests.approvals.policy.writing import facts, policy

ALLOW, DENY, ASK = ({"then": then} for then in ("allow", "deny", "ask"))
SMALL = {"when": "input.amount < 500"}


def said(found: PolicyVerdict) -> tuple[str, str | None, str | None]:
    return found.then.value, found.rule.name if found.rule else None, found.why.value if found.why else None


def test_without_rules_people_are_asked_as_before():
    assert evaluate(NO_POLICY, facts()) == PolicyVerdict()
    assert evaluate(policy(four_eyes=True), facts()) == PolicyVerdict(control=Control.FOUR_EYES)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([ALLOW], ("allow", "rule 1", None)),
        ([DENY, ALLOW], ("deny", "rule 1", None)),
        ([{"match": {"tools": ["wire"]}} | ALLOW, DENY], ("deny", "rule 2", None)),
        ([SMALL | ALLOW], ("allow", "rule 1", None)),
        ([{"when": "input.amount > 500"} | ALLOW], ("ask", None, None)),
        # An error asks, unless a later rule denies for sure.
        ([{"when": "input.missing == 1"} | ALLOW, ALLOW], ("ask", "rule 1", "condition")),
        ([{"when": "input.missing == 1"} | ALLOW, DENY], ("deny", "rule 2", None)),
        ([{"when": "input.missing == 1"} | DENY, ALLOW], ("ask", "rule 1", "condition")),
        ([{"when": "input.missing == 1"} | DENY, ALLOW, DENY], ("ask", "rule 1", "condition")),
        ([{"when": "input.missing == 1"} | ASK, ALLOW], ("ask", "rule 1", "condition")),
        # The match is looked at first, so the condition may rely on it.
        ([{"match": {"tools": ["wire"]}, "when": "input.missing == 1"} | DENY, ALLOW], ("allow", "rule 2", None)),
    ],
)
def test_the_first_rule_that_fits_decides(rules, expected):
    assert said(evaluate(policy(*rules), facts())) == expected


AMOUNT = {"match": {"input": [{"pointer": "/amount", "at_most": 50}]}}
FINANCE = {"ask": {"stages": [{"groups": [{"teams": ["finance"]}]}]}}


@pytest.mark.parametrize("small", [AMOUNT, {"when": "input.amount < 50"}, {"when": "input.amount == 50"}])
@pytest.mark.parametrize("amount", ["50000", None, True, [1], {"value": 1}])
def test_an_amount_of_another_type_asks_on_the_terms_of_the_stricter_rule_behind(small, amount):
    found = evaluate(policy(small | ALLOW, FINANCE | ASK), facts({"amount": amount}))
    assert (*said(found), [rule.name for rule in found.others]) == ("ask", "rule 1", "condition", ["rule 2"])
    assert found.asking.terms == evaluate(policy(FINANCE | ASK), facts()).asking.terms
    assert (found.control, bar_of(Kind.APPROVAL, Priority.NORMAL, "refund", verdict=found)) == (
        Control.FOUR_EYES,
        Bar.UNCERTAIN,
    )


def test_a_missing_value_in_a_match_is_no_match():
    assert said(evaluate(policy(AMOUNT | ALLOW, FINANCE | ASK), facts({}))) == ("ask", "rule 2", None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"to": ["bob"]}, "deny"),
        ({"to": ["eve"]}, "allow"),
        ({"to": []}, "allow"),
        ({"to": "bob"}, "ask"),
        ({"to": {"name": "bob"}}, "ask"),
        ({"to": [["bob"]]}, "ask"),
        ({}, "allow"),
    ],
)
def test_a_value_of_another_type_on_the_way_to_what_is_pointed_to_could_match(value, expected):
    denied = {"match": {"input": [{"pointer": "/to/0", "equals": "bob"}]}} | DENY
    assert evaluate(policy(denied, ALLOW), facts(value)).then == expected


def test_what_a_condition_rules_out_does_not_match_whatever_else_could():
    rule = AMOUNT | {"when": 'tool == "wire"'} | DENY
    assert said(evaluate(policy(rule, ALLOW), facts({"amount": "1"}))) == ("allow", "rule 2", None)


def test_where_no_rule_matches_for_sure_the_policy_says_who_decides_too():
    rule = {"when": "input.no == 1", "ask": {"with_requester": True}} | ASK
    assert evaluate(policy(rule), facts()).control is None
    assert evaluate(policy(rule, four_eyes=True), facts()).control == Control.FOUR_EYES
    for uncertain in (rule, rule | ALLOW):
        surely = {"ask": {"with_requester": True}} | ASK
        assert evaluate(policy(uncertain, surely, four_eyes=True), facts()).control is None


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind != Kind.APPROVAL])
def test_only_approvals_are_allowed_or_denied(kind):
    found = evaluate(policy(ALLOW, DENY, {"then": "ask"}), facts(kind=kind))
    assert said(found) == ("ask", "rule 3", None)


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({}, ("ask", "rule 1", "critical")),
        ({"tools": ["refund"]}, ("ask", "rule 1", "critical")),
        ({"priorities": ["critical"]}, ("allow", "rule 1", None)),
    ],
)
def test_a_critical_call_is_allowed_only_by_a_rule_that_names_critical_calls(match, expected):
    found = evaluate(policy({"match": match} | ALLOW, ALLOW), facts(priority=Priority.CRITICAL))
    assert said(found) == expected


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, ("allow", "rule 1", None)),
        ({"has_files": True}, ("ask", "rule 1", "files")),
        ({"may_allow": False}, ("ask", "rule 1", "stopped")),
        ({"may_allow": False, "has_files": True}, ("ask", "rule 1", "stopped")),
    ],
)
def test_no_rule_allows_a_call_with_files_or_while_everything_is_asked(known, expected):
    assert said(evaluate(policy(ALLOW), replace(facts(), **known))) == expected
    assert said(evaluate(policy(DENY), replace(facts(), **known))) == ("deny", "rule 1", None)


def test_a_policy_has_the_switches_and_rules_that_it_names_and_no_others():
    found = Policy(rules=policy(ALLOW, DENY).rules)
    assert (found.four_eyes, found.repeat_rejections) == (False, False)
    assert [found.rule(name) for name in ("rule 2", "rule 3")] == [found.rules[1], None]


@pytest.mark.parametrize(
    ("rule", "four_eyes", "control"),
    [
        (ASK, False, Control.FOUR_EYES),
        ({"ask": {"with_requester": True}} | ASK, True, None),
        ({"when": "input.no == 1"} | ALLOW, False, None),
        ({"when": "input.no == 1"} | ALLOW, True, Control.FOUR_EYES),
        ({"when": "input.no == 1", "ask": {"veto": True}} | ALLOW, False, Control.FOUR_EYES),
        (ALLOW, True, None),
    ],
)
def test_who_runs_the_agent_decides_only_if_the_rule_says_so(rule, four_eyes, control):
    assert evaluate(policy(rule, four_eyes=four_eyes), facts()).control == control


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (ASK, None),
        ({"ask": {"priority": "high", "reminders": [60], "channels": ["mail"]}} | ASK, None),
        ({"ask": {"reason": "rejection"}} | ASK, None),
        ({"ask": {"reason": "always"}} | ASK, Bar.PEOPLE),
        ({"ask": {"veto": True}} | ASK, Bar.PEOPLE),
        ({"ask": {"stages": [{"groups": [{"teams": ["finance"]}]}]}} | ASK, Bar.PEOPLE),
        ({"ask": {"typed_name": True}} | ASK, Bar.PEOPLE),
        ({"ask": {"fresh_sign_in": True}} | ASK, Bar.PEOPLE),
        ({"when": "input.no == 1"} | ALLOW, Bar.UNCERTAIN),
        (ALLOW, Bar.ALLOWED),
        (DENY, Bar.DENIED),
    ],
)
def test_a_grant_does_not_pass_by_what_a_rule_says_about_people(rule, expected):
    assert bar_of(Kind.APPROVAL, Priority.NORMAL, "refund", verdict=evaluate(policy(rule), facts())) == expected


@pytest.mark.parametrize(("then", "on_expire"), [("halt", OnExpire.HALT), ("reject", None), ("default", None)])
def test_a_rule_that_stops_the_run_says_so_in_the_terms(then, on_expire):
    found = evaluate(policy({"ask": {"deadline": {"after": 600, "then": then}}} | ASK), facts())
    assert (found.asking.terms.on_expire, found.asking.deadline) == (on_expire, Deadline(after=600, then=then))


def test_without_a_rule_people_are_asked_in_the_plain_way():
    assert (PolicyVerdict().rules, PolicyVerdict().askings, PolicyVerdict().asking) == ((), [PLAIN], PLAIN)


def test_who_asks_is_read_only_for_a_rule_that_needs_it():
    def unread() -> None:
        raise AssertionError

    found = facts()
    vars(found)["requester"] = unread
    assert said(evaluate(policy(SMALL | ALLOW), found)) == ("allow", "rule 1", None)


@pytest.mark.parametrize(
    "when",
    [
        *(f'{name} == "{value}"' for name, value in [("tool", "refund"), ("agent", "billing"), ("kind", "approval")]),
        *(f'{name} == "{value}"' for name, value in [("source", "api"), ("server", "bank"), ("priority", "normal")]),
        *("input.amount == 120", "context.ticket == 7", "hour == 14 && weekday == 2"),
        'now == timestamp("2026-11-24T14:30:00Z")',
        'requester == {"name": "alice", "teams": ["support"], "roles": ["requester"]}',
    ],
)
def test_a_condition_reads_each_fact_by_its_name(when):
    assert said(evaluate(policy({"when": when} | ALLOW), facts(server="bank", context={"ticket": 7}))) == (
        "allow",
        "rule 1",
        None,
    )


#: A text so long that a condition cannot compare it with a hundred others.
LONG = "x" * 60_000


def test_all_conditions_of_a_request_share_one_budget():
    costly = "input.items.exists(item, item == input.memo)"
    value = {"items": ["y"] * 16, "memo": LONG}
    cost = Expression(costly).cost(facts(value).size)
    assert MAX_STEPS // 2 < cost <= MAX_STEPS
    never, rest = {"when": costly} | DENY, {"when": f"!{costly}"} | ALLOW
    assert said(evaluate(policy(rest), facts(value))) == ("allow", "rule 1", None)
    assert said(evaluate(policy(never, rest), facts(value))) == ("ask", "rule 2", "condition")
    # Conditions are evaluated only for requests that fit the match.
    ruled_out = never | {"match": {"input": [{"pointer": "/kind", "equals": "gift"}]}}
    assert said(evaluate(policy(ruled_out, rest), facts(value))) == ("allow", "rule 2", None)


@pytest.mark.parametrize("read", ["requester.teams", "context.teams"])
@pytest.mark.parametrize(("size", "expected"), [(1, ("allow", "rule 1", None)), (100, ("ask", "rule 1", "condition"))])
def test_a_condition_is_priced_by_who_asks_and_by_the_context_too(read, size, expected):
    rule = {"when": f"!{read}.exists(team, team == input.memo)"} | ALLOW
    teams = [f"team {number}" for number in range(size)]
    known = {"requester": Requester("alice", teams)} if read == "requester.teams" else {"context": {"teams": teams}}
    assert said(evaluate(policy(rule), facts({"memo": LONG}, **known))) == expected


@pytest.mark.parametrize(
    ("match", "fits", "other"),
    [
        ({"tools": ["refund"]}, {"tool": "refund"}, {"tool": "wire"}),
        ({"agents": ["billing"]}, {"agent": "billing"}, {"agent": "support"}),
        ({"servers": ["bank"]}, {"server": "bank"}, {"server": "files"}),
        ({"kinds": ["approval"]}, {"kind": "approval"}, {"kind": "question"}),
        ({"priorities": ["high"]}, {"priority": "high"}, {"priority": "low"}),
        ({"sources": ["api"]}, {"source": "api"}, {"source": "chat"}),
        ({"requesters": ["alice"]}, {"requester": 1}, {"requester": 2}),
    ],
)
def test_the_rules_that_a_policy_remembers_are_those_of_the_same_facts(match, fits, other):
    found = policy({"match": match} | ASK)
    names = [[rule.name for rule in found.rules_for(replace(facts().match, **known))] for known in (fits, other, fits)]
    assert names == [["rule 1"], [], ["rule 1"]]


def test_a_policy_remembers_its_rules_for_so_many_kinds_of_requests_and_no_more():
    found = policy({"match": {"tools": ["tool *"]}} | ALLOW, ASK)
    kinds = [facts(tool=f"tool {number}").match for number in range(MAX_KEPT + 1)]
    remembered = [found.rules_for(kind) for kind in kinds[:-1]]
    assert all(found.rules_for(kind) is rules for kind, rules in zip(kinds, remembered, strict=False))
    found.rules_for(kinds[-1])
    again = found.rules_for(kinds[0])
    assert ([rule.name for rule in again], again is remembered[0]) == (["rule 1", "rule 2"], False)


#: Conditions with their result for an input: true, false, or an error.
CONDITIONS = {
    None: lambda value: True,
    "input.amount < 500": lambda value: (value["amount"] < 500) if type(value.get("amount")) is int else None,
    "has(input.vip)": lambda value: "vip" in value,
    "input.vip == true": lambda value: value["vip"] if type(value.get("vip")) is bool else None,
    'tool == "refund"': lambda value: True,
}
#: Tests of the amount in a match, with whether they fit: yes, no, or unknown. A missing value never fits.
MATCHES = {
    None: lambda value: True,
    ("at_most", 400): lambda amount: (amount <= 400) if type(amount) is int else None,
    ("equals", "499"): lambda amount: (amount == "499") if type(amount) is str else None,
}
RULES = st.lists(
    st.tuples(
        st.sampled_from(["refund", "ref*", "wire"]),
        st.sampled_from([*MATCHES]),
        st.sampled_from([*CONDITIONS]),
        st.sampled_from([*Then]),
    ),
    max_size=6,
)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "amount": st.sampled_from([0, 499, 500, "499", None, True]),
        "vip": st.sampled_from([True, False, 1, None]),
    },
)


@given(RULES, VALUES, st.sampled_from(["approval", "question"]), st.booleans())
def test_the_policy_says_what_a_plain_reading_of_its_rules_says(rules, value, kind, critical):
    written = [
        {"match": {"tools": [tool]} | match_of(test), "then": then} | ({"when": when} if when else {})
        for tool, test, when, then in rules
    ]
    priority = "critical" if critical else "normal"
    found = evaluate(policy(*written), facts(value, kind=kind, priority=priority))
    assert (*said(found), [rule.name for rule in found.others]) == model(rules, value, kind, critical)


def match_of(test) -> dict:
    return {"input": [{"pointer": "/amount", test[0]: test[1]}]} if test else {}


def model(rules, value, kind, critical):
    possible = []
    for number, (tool, test, when, then) in enumerate(rules, 1):
        if tool == "wire" or (kind != "approval" and then != "ask"):
            continue
        fits = "amount" in value and MATCHES[test](value["amount"]) if test else True
        holds = CONDITIONS[when](value)
        if fits is False or holds is False:
            continue
        if fits is None or holds is None:
            possible.append(f"rule {number}")
            continue
        if then == "deny":
            return "deny", f"rule {number}", None, []
        if possible:
            return "ask", possible[0], AskedBecause.CONDITION, [*possible[1:], f"rule {number}"]
        return "ask" if then == "allow" and critical else then, f"rule {number}", *why(then, critical)
    return ("ask", possible[0], AskedBecause.CONDITION, possible[1:]) if possible else ("ask", None, None, [])


def why(then, critical):
    return (AskedBecause.CRITICAL if then == "allow" and critical else None, [])


@pytest.mark.parametrize(
    ("ruled", "control", "expected"),
    [
        (None, "", None),
        (None, "confirm", "confirm"),
        (None, "four_eyes", "four_eyes"),
        (Control.FOUR_EYES, "", "four_eyes"),
        (Control.FOUR_EYES, "confirm", "four_eyes"),
    ],
)
def test_the_settings_of_a_tool_say_who_decides_unless_the_rules_exclude_the_requester(ruled, control, expected):
    assert PolicyVerdict(control=ruled).control_with(control) == expected
