"""The policy is read strictly: every error has its path, and the stored form has ids in place of names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.match import Match
from approvals.policy.policies import (
    MAX_VALUES,
    Directory,
    InvalidPolicy,
    Named,
    ids_in,
    names_in,
    policy_of,
    stored_form,
    written_form,
)
from approvals.policy.policy_schema import MAX_SECONDS, POLICY_SCHEMA
from approvals.policy.rules import MAX_MESSAGE, MAX_NAME, MAX_RULES, Policy, Rule, Then
from approvals.policy.terms import FollowUpStep, Stage, VoterGroup
from approvals.schema.check import schema_problem
from tests.approvals.policy.writing import DIRECTORY

WHOLE = {
    "four_eyes": True,
    "rules": [
        {
            "name": "Large refunds",
            "match": {"tools": ["refund"], "requesters": ["alice"], "input": [{"pointer": "/amount", "at_least": 500}]},
            "when": "hour >= 8",
            "then": "ask",
            "message": "Look at the contract first.",
            "ask": {
                "stages": [
                    {"groups": [{"teams": ["finance"], "roles": ["approver"], "votes": 2}, {"people": ["bob"]}], "any": True},
                    {"groups": [{}]},
                ],
                "with_requester": True, "veto": True, "reason": "always", "typed_name": True, "fresh_sign_in": True,
                "deadline": {"after": 3600, "then": "halt"},
                "reminders": [600, 1200],
                "escalation": [{"after": 1800, "roles": ["approver"]}],
                "working_hours": True, "priority": "high", "channels": ["mail"], "key_fields": ["/amount"],
            },
        },
        {"name": "Rest", "then": "deny"},
    ],
}  # fmt: skip


def faults_of(document: object) -> dict[str, str]:
    with pytest.raises(InvalidPolicy) as refusal:
        stored_form(document, DIRECTORY)
    assert str(refusal.value) == "The policy is invalid."
    return {path: str(fault) for path, fault in refusal.value.faults.items()}


def rule(**changes):
    return {"rules": [{"name": "a", "then": "ask", **changes}]}


def ask(**said):
    return rule(ask=said)


def test_a_whole_policy_is_read():
    stored = stored_form(WHOLE, DIRECTORY)
    first = policy_of(stored).rules[0]
    terms = first.ask.terms
    assert terms.stages == (
        Stage(groups=(VoterGroup(teams=(5, 9), votes=2), VoterGroup(people=(2,))), any=True),
        Stage(groups=(VoterGroup(),)),
    )
    assert (terms.escalation, terms.reminders, terms.channels) == (
        (FollowUpStep(after=1800, teams=(9,)),),
        (600, 1200),
        ("mail",),
    )
    assert (first.match.requesters, first.ask.key_fields, first.ask.priority) == ((1,), ("/amount",), "high")
    assert terms.document()["on_expire"] == "halt"


def test_what_is_stored_is_written_as_it_was_read():
    assert written_form(stored_form(WHOLE, DIRECTORY), DIRECTORY) == WHOLE
    assert names_in(WHOLE) == Named(people=frozenset({"alice", "bob"}), teams=frozenset({"finance"}))
    assert ids_in(stored_form(WHOLE, DIRECTORY)) == Named(people=frozenset({1, 2}), teams=frozenset({5, 9}))


def test_only_names_are_looked_up_whatever_else_an_untrusted_document_lists():
    names = names_in(rule(match={"requesters": ["alice", 1, [], None]}, ask={"escalation": [{"teams": [["finance"]]}]}))
    assert (names.people, names.teams) == ({"alice"}, set())


def test_who_no_longer_exists_is_not_whoever_is_called_so_now():
    stored = stored_form(WHOLE, DIRECTORY)
    gone = written_form(stored, Directory(people=DIRECTORY.people, roles=DIRECTORY.roles))
    group = gone["rules"][0]["ask"]["stages"][0]["groups"][0]
    assert (group["teams"], group["roles"]) == (["#5"], ["approver"])
    assert written_form(stored, Directory())["rules"][0]["match"]["requesters"] == ["#1"]
    with pytest.raises(InvalidPolicy) as refusal:
        stored_form(gone, Directory(people=DIRECTORY.people, roles=DIRECTORY.roles, teams={"#5": 77}))
    assert list(refusal.value.faults) == ["rules.0.ask.stages.0.groups.0.teams.0"]


def test_a_rule_needs_nothing_but_a_name_and_an_effect():
    assert policy_of(stored_form(rule(), DIRECTORY)).rules == (Rule(name="a", match=Match(), then=Then.ASK),)
    assert policy_of({}) == Policy()


def test_the_schema_is_one():
    assert schema_problem(POLICY_SCHEMA) == ""


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ([], [""]),
        ({"rule": []}, [""]),
        ({"rules": {}}, ["rules"]),
        ({"rules": [{"name": f"{number}", "then": "ask"} for number in range(MAX_RULES + 1)]}, ["rules"]),
        ({"rules": [{"then": "ask"}, {"name": "a"}]}, ["rules.0.name", "rules.1.then"]),
        (rule(then="approve"), ["rules.0.then"]),
        (rule(name=""), ["rules.0.name"]),
        (rule(name="a\u200bb"), ["rules.0.name"]),
        (rule(name=" a"), ["rules.0.name"]),
        (rule(match={"kinds": 5}, ask={"stages": [{"groups": [{}]}]}), ["rules.0.match.kinds"]),
        (rule(name="x" * (MAX_NAME + 1)), ["rules.0.name"]),
        (rule(message="x" * (MAX_MESSAGE + 1)), ["rules.0.message"]),
        (rule(message=""), ["rules.0.message"]),
        ({"rules": [{"name": "Rest", "then": "ask"}, {"name": "rest", "then": "deny"}]}, ["rules.1.name"]),
        (rule(match=[]), ["rules.0.match"]),
        (rule(match={"tool": ["x"]}), ["rules.0.match.tool"]),
        (rule(match={"X": ["x"]}), ["rules.0.match.X"]),
        (rule(match={"input": [{"pointer": "/a", "equals": "x" * 30_000}]}), ["rules.0.match"]),
        (rule(match={"requesters": ["mallory"]}), ["rules.0.match.requesters.0"]),
        (
            rule(match={"requesters": ["alice", "mallory", "#1"]}),
            [f"rules.0.match.requesters.{place}" for place in (1, 2)],
        ),
        (rule(match={"requesters": []}), ["rules.0.match.requesters"]),
        (rule(match={"requesters": [1]}), ["rules.0.match.requesters"]),
        (rule(match={"requesters": ["alice", 1]}), ["rules.0.match.requesters"]),
        (rule(match={"requesters": "alice"}), ["rules.0.match.requesters"]),
        (rule(when="tol == 1"), ["rules.0.when"]),
        (rule(when=1), ["rules.0.when"]),
        (ask(stages=[]), ["rules.0.ask.stages"]),
        (ask(stages=[{"groups": [{"people": ["mallory"]}]}]), ["rules.0.ask.stages.0.groups.0.people.0"]),
        (ask(stages=[{"groups": [{"teams": ["ops"]}]}]), ["rules.0.ask.stages.0.groups.0.teams.0"]),
        (ask(stages=[{"groups": [{"roles": ["boss"]}]}]), ["rules.0.ask.stages.0.groups.0.roles.0"]),
        (ask(stages=[{"groups": [{"people": ["bob"], "votes": 2}]}]), ["rules.0.ask.stages.0.groups.0.votes"]),
        (ask(stages=[{"groups": [{"people": ["bob", "bob"]}]}]), ["rules.0.ask.stages.0.groups.0.people"]),
        (
            rule(match={"kinds": ["question", "form"]}, ask={"stages": [{"groups": [{"votes": 2}]}]}),
            ["rules.0.ask.stages"],
        ),
        (ask(deadline={"after": 60}), ["rules.0.ask.deadline.then"]),
        (ask(deadline={"after": 1, "then": "halt"}), ["rules.0.ask.deadline.after"]),
        (ask(reminders=[120, 60]), ["rules.0.ask.reminders"]),
        (ask(escalation=[{"after": 60}]), ["rules.0.ask.escalation.0"]),
        (ask(escalation=[{"after": 60, "people": ["bob", "mallory"]}]), ["rules.0.ask.escalation.0.people.1"]),
        (ask(escalation=[{"after": 60, "people": ["mallory"]}]), ["rules.0.ask.escalation.0.people.0"]),
        (
            ask(stages=[{"groups": [{"people": ["bob", "mallory"], "votes": 2}]}]),
            ["rules.0.ask.stages.0.groups.0.people.1"],
        ),
        (ask(escalation=[{"after": 60, "roles": ["approver"]} for _ in range(2)]), ["rules.0.ask.escalation"]),
        (ask(key_fields=["amount"]), ["rules.0.ask.key_fields.0"]),
        (ask(on_expire="halt"), ["rules.0.ask"]),
        (ask(veto="yes"), ["rules.0.ask.veto"]),
    ],
)
def test_every_fault_is_named_by_its_path(document, paths):
    assert list(faults_of(document)) == paths


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        (ask(stages=[]), {"rules.0.ask.stages": "needs at least 1 value"}),
        (
            {"rules": [{"name": name, "then": "ask"} for name in ("Rest", "100 %", "rest")]},
            {"rules.2.name": "is also the name of rule 1; each rule needs its own name"},
        ),
        (
            ask(stages=[{"groups": [{"people": ["100 %"], "teams": ["x" * 101], "roles": ["administrator"]}]}]),
            {
                "rules.0.ask.stages.0.groups.0.people.0": "there is no active user “100 %”",
                "rules.0.ask.stages.0.groups.0.teams.0": f"there is no team “{'x' * 100}”",
                "rules.0.ask.stages.0.groups.0.roles.0": "there is no role “administrator”",
            },
        ),
    ],
)
def test_every_fault_says_what_is_wrong(document, faults):
    assert faults_of(document) == faults


def test_a_rule_about_questions_and_approvals_may_have_stages():
    for kinds in (["question", "approval"], ["approval"]):
        document = rule(match={"kinds": kinds}, ask={"stages": [{"groups": [{"votes": 2}]}]})
        assert stored_form(document, DIRECTORY) == document


def test_whatever_is_just_within_the_bounds_of_a_policy_is_read():
    groups = [{"people": ["alice", "bob"], "votes": 2}] * 9 + [{"votes": 50}]
    most = {
        "stages": [{"groups": groups}] * 10,
        "deadline": {"after": 60, "then": "default"},
        "reminders": [60 * number for number in range(1, 10)] + [MAX_SECONDS],
        "escalation": [{"after": 60 * number, "roles": ["approver"]} for number in range(1, 11)],
        "key_fields": ["/" + "x" * 199, *(f"/{number}" for number in range(19))],
        "channels": ["mail", "slack", "push"],
    }
    document = json.loads(json.dumps(rule(name="x" * MAX_NAME, message="x" * MAX_MESSAGE, ask=most)))
    assert written_form(stored_form(document, DIRECTORY), DIRECTORY) == document


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"stages": [{"groups": [{}]}] * 11}, "stages"),
        ({"stages": [{"groups": [{}] * 11}]}, "stages.0.groups"),
        ({"stages": [{"groups": []}]}, "stages.0.groups"),
        ({"stages": [{}]}, "stages.0.groups"),
        ({"stages": [{"groups": [{"votes": 0}]}]}, "stages.0.groups.0.votes"),
        ({"stages": [{"groups": [{"votes": 51}]}]}, "stages.0.groups.0.votes"),
        ({"stages": [{"groups": [{"votes": 1.5}]}]}, "stages.0.groups.0.votes"),
        ({"stages": [{"groups": [{"people": [f"{number}" for number in range(101)]}]}]}, "stages.0.groups.0.people"),
        ({"stages": [{"groups": [{"people": ["x" * 151]}]}]}, "stages.0.groups.0.people.0"),
        ({"stages": [{"groups": [{"roles": ["approver"] * 2}]}]}, "stages.0.groups.0.roles"),
        ({"deadline": {"after": MAX_SECONDS + 1, "then": "halt"}}, "deadline.after"),
        ({"deadline": {"after": 60, "then": "allow"}}, "deadline.then"),
        ({"reminders": [60 * number for number in range(1, 12)]}, "reminders"),
        ({"reminders": [59]}, "reminders.0"),
        ({"escalation": [{"roles": ["approver"]}]}, "escalation.0.after"),
        ({"key_fields": [f"/{number}" for number in range(21)]}, "key_fields"),
        ({"key_fields": ["/" + "x" * 200]}, "key_fields.0"),
        ({"key_fields": ["/a", "/a"]}, "key_fields"),
        ({"channels": ["mail", "mail"]}, "channels"),
        ({"channels": ["fax"]}, "channels.0"),
        ({"priority": "urgent"}, "priority"),
        ({"reason": "never"}, "reason"),
        *(({flag: 1}, flag) for flag in ("with_requester", "typed_name", "fresh_sign_in", "working_hours")),
    ],
)
def test_whatever_is_beyond_the_bounds_of_how_people_are_asked_is_refused(members, path):
    assert list(faults_of(ask(**members))) == [f"rules.0.ask.{path}"]


def test_faults_come_in_the_order_of_the_document():
    document = {"rules": [{"name": f"{number}", "then": "ask", "when": "x"} for number in range(12)]}
    assert list(faults_of(document)) == [f"rules.{number}.when" for number in range(12)]


def test_a_document_that_is_too_large_is_refused():
    assert list(faults_of({"rules": [{"name": "a", "then": "ask", "message": "x" * 500_000}]})) == [""]
    assert list(faults_of({"rules": [0] * (MAX_VALUES + 1)})) == [""]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["rules", "name", "then", "match", "ask", "stages", "groups", "people"]), inner
        )
    ),
    max_leaves=15,
)


@given(ANYTHING)
def test_a_forged_document_is_refused_or_is_a_policy(document):
    try:
        stored = stored_form(document, DIRECTORY)
    except InvalidPolicy as error:
        assert error.faults
    else:
        policy_of(json.loads(json.dumps(stored)))
