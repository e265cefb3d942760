"""Rules in sentences that people read as English, for each member that a rule may have."""

from __future__ import annotations

import pytest
from django.utils import translation

from approvals.policy.documents import _TESTS
from approvals.policy.policy_schema import POLICY_SCHEMA
from approvals.policy.words import Names, otherwise_in_words, requests_in_words, rule_in_words, whole_rule_in_words
from tests.approvals.policy.writing import policy

NAMES = Names(people={1: "alice", 2: "bob"}, groups={5: "finance", 6: "security", 9: "the role Approver"})
MAY_NOT = "The requester may not decide."

#: The words of a match.
MATCHES = [
    ({}, "all requests"),
    ({"tools": ["refund"]}, "calls of refund"),
    ({"tools": ["refund", "wire*", "pay"]}, "calls of refund, wire* or pay"),
    ({"agents": ["billing"]}, "requests by the agent billing"),
    ({"servers": ["bank", "crm"]}, "requests on the MCP server bank or crm"),
    ({"kinds": ["question", "form"]}, "questions and forms"),
    ({"kinds": ["recovery"], "tools": ["wire"]}, "unknown outcomes about wire"),
    ({"priorities": ["high", "critical"]}, "requests with the priority High or Critical"),
    ({"sources": ["api", "chat"]}, "requests that come through API or chat"),
    ({"requesters": ["alice", "bob"]}, "requests from alice or bob"),
    (
        {"tools": ["wireMoney"], "agents": ["billing"], "input": [{"pointer": "/amount", "at_most": 1_000_000}]},
        "calls of wireMoney by the agent billing whose amount is at most 1,000,000",
    ),
]

#: The words of a condition of a match.
CONDITIONS = [
    ({"pointer": "/amount", "at_least": 0.5}, "whose amount is at least 0.5"),
    ({"pointer": "/amount", "at_least": 1, "at_most": 9}, "whose amount is from 1 to 9"),
    ({"pointer": "/amount", "more_than": 1000, "type": "amount"}, "whose amount is more than 1,000"),
    ({"pointer": "/amount", "less_than": 0.5}, "whose amount is less than 0.5"),
    ({"pointer": "/customer/country", "equals": "DE"}, "whose customer.country is “DE”"),
    ({"pointer": "/country", "one_of": ["DE", "FR", 3, None, True]}, "whose country is “DE”, “FR”, 3, null or true"),
    ({"pointer": "/n", "one_of": list(range(9))}, "whose n is 0, 1, 2, 3 or 5 more"),
    ({"pointer": "/path", "starts_with": "/data/"}, "whose path starts with “/data/”"),
    ({"pointer": "/path", "starts_with": "x" * 90}, f"whose path starts with “{'x' * 80}…”"),
    ({"pointer": "/to", "like": "*@ours.com"}, "whose to ends with “@ours.com”"),
    ({"pointer": "/to", "like": "*ours*"}, "whose to contains “ours”"),
    ({"pointer": "/to", "like": "a*@ours.com"}, "whose to matches the pattern “a*@ours.com”"),
    ({"pointer": "/to", "type": "addresses"}, "whose to is a list of email addresses"),
    ({"pointer": "/path", "type": "path", "starts_with": "/srv/"}, "whose path starts with “/srv/” (one path)"),
    ({"pointer": "/fee", "type": "amount", "at_most": 5}, "whose fee is at most 5"),
    ({"pointer": "/card", "members": ["kind", "limit"]}, "whose card has no members but “kind” and “limit”"),
    ({"pointer": "", "members": ["kind"]}, "whose input has no members but “kind”"),
    ({"pointer": "/a~1b", "equals": {"c": "ü"}}, 'whose a/b is {"c": "ü"}'),
]


def stages(*groups: dict, **more: bool) -> dict:
    return {"groups": list(groups), **more}


#: The words of a member of `ask`.
ASKING = [
    ({}, [MAY_NOT]),
    ({"with_requester": True}, ["The requester may decide too, if their role allows it."]),
    ({"stages": [stages({"people": ["bob"]})]}, ["Needs the approval of bob.", MAY_NOT]),
    ({"stages": [stages({"people": ["bob", "alice"]})]}, ["Needs the approval of one of bob or alice.", MAY_NOT]),
    ({"stages": [stages({})]}, ["Needs the approval of someone who may decide.", MAY_NOT]),
    ({"stages": [stages({"votes": 2})]}, ["Needs the approval of 2 people who may decide.", MAY_NOT]),
    (
        {"stages": [stages({"teams": ["finance"], "votes": 2}, {"teams": ["security"]})]},
        ["Needs the approval of 2 of finance, and one of security.", MAY_NOT],
    ),
    (
        {"stages": [stages({"people": ["bob"], "roles": ["approver"]}, {"people": ["alice"]}, any=True)]},
        ["Needs the approval of one of bob or the role Approver, or alice.", MAY_NOT],
    ),
    (
        {"stages": [stages({"people": ["bob"]}), stages({"teams": ["finance"]})]},
        ["First needs the approval of bob.", "Then needs the approval of one of finance.", MAY_NOT],
    ),
    ({"veto": True}, [MAY_NOT, "One rejection ends it."]),
    ({"reason": "rejection"}, [MAY_NOT, "A rejection needs a message."]),
    ({"reason": "always"}, [MAY_NOT, "Every decision needs a message."]),
    ({"typed_name": True}, [MAY_NOT, "To approve, people have to type the name of the tool."]),
    ({"fresh_sign_in": True}, [MAY_NOT, "Approvers need a fresh log-in."]),
    (
        {"deadline": {"after": 600, "then": "reject"}},
        [MAY_NOT, "Rejected if no one decides within 10 minutes."],
    ),
    (
        {"deadline": {"after": 3600, "then": "default"}},
        [MAY_NOT, "Answered by its default if no one decides within 1 hour."],
    ),
    (
        {"deadline": {"after": 86_400, "then": "halt"}},
        [MAY_NOT, "Stops the run if no one decides within 1 day."],
    ),
    (
        {"reminders": [3600, 7200], "working_hours": True},
        [
            MAY_NOT,
            "Reminds people who may decide after 1 hour and 2 hours.",
            "Only working hours count for these times.",
        ],
    ),
    ({"reminders": [60]}, [MAY_NOT, "Reminds people who may decide after 1 minute."]),
    ({"working_hours": True}, [MAY_NOT]),
    (
        {"escalation": [{"after": 3600, "people": ["bob"], "teams": ["security"]}], "working_hours": True},
        [MAY_NOT, "After 1 hour, also notifies bob and security.", "Only working hours count for these times."],
    ),
    ({"priority": "high"}, [MAY_NOT, "Raises the priority to High, if it is lower."]),
    ({"channels": ["mail", "slack", "push"]}, [MAY_NOT, "Notifies people only by mail, Slack and push message."]),
    ({"channels": ["slack"]}, [MAY_NOT, "Notifies people only by Slack."]),
    ({"key_fields": ["/amount", "/customer/name"]}, [MAY_NOT, "Shows amount and customer.name first."]),
]


def rule(**members: object):
    [only] = policy({"then": "ask", **members}).rules
    return only


@pytest.mark.parametrize(("match", "words"), MATCHES)
def test_a_match_says_which_requests_it_means(match, words):
    assert requests_in_words(rule(match=match).match, NAMES) == words


@pytest.mark.parametrize(("condition", "words"), CONDITIONS)
def test_values_of_the_input_are_said_by_name(condition, words):
    assert requests_in_words(rule(match={"input": [condition]}).match, NAMES) == f"requests {words}"


@pytest.mark.parametrize(("ask", "sentences"), ASKING)
def test_each_member_of_ask_has_its_sentence(ask, sentences):
    assert rule_in_words(rule(ask=ask), NAMES) == ["Asks people about all requests.", *sentences]


def test_the_tables_leave_no_member_out():
    members = POLICY_SCHEMA["properties"]["rules"]["items"]["properties"]
    assert {name for ask, _sentences in ASKING for name in ask} == set(members["ask"]["properties"])
    lists = {name for match, _words in MATCHES for name in match}
    assert lists == {"tools", "agents", "servers", "kinds", "priorities", "sources", "requesters", "input"}
    tests = {name for condition, _words in CONDITIONS for name in condition}
    assert tests == {"pointer", "type", "members", *_TESTS}


def test_a_rule_says_everything_in_one_list():
    said = rule(
        name="Small", match={"tools": ["refund"]}, when="input.amount < 5", then="deny", message="Ask.\u202e",
        ask={"veto": True},
    )  # fmt: skip
    assert whole_rule_in_words(said, NAMES) == [
        "Denies calls of refund without asking.",
        "Only if: input.amount < 5",
        "If it is not certain that this matches, people are asked:",
        MAY_NOT,
        "One rejection ends it.",
        "Message: “Ask.⟨U+202E⟩”",
    ]


def test_several_values_are_joined_and_people_who_were_removed_are_numbers():
    said = rule(match={"requesters": ["alice"], "input": [{"pointer": f"/{name}", "equals": 1} for name in "abcdefg"]})
    words = "requests from #1 whose a is 1, b is 1, c is 1, d is 1, e is 1, f is 1 and g is 1"
    assert requests_in_words(said.match, Names()) == words


def test_a_rule_that_does_not_say_how_people_are_asked_asks_them_on_the_usual_terms():
    assert rule_in_words(rule(), NAMES) == ["Asks people about all requests.", MAY_NOT]


@pytest.mark.parametrize(("then", "words"), [("allow", "Allows"), ("deny", "Denies")])
def test_a_rule_that_asks_no_one_says_so(then, words):
    assert rule_in_words(rule(then=then), NAMES) == [f"{words} all requests without asking."]


def test_people_and_teams_who_were_removed_are_numbers_where_they_vote_too():
    voters = stages({"people": ["alice"], "teams": ["finance"], "votes": 2})
    words = rule_in_words(rule(ask={"stages": [voters]}), Names(people={2: "bob"}))
    assert words[1] == "Needs the approval of 2 of #1 or #5."


def test_what_no_rule_speaks_of_is_said():
    assert otherwise_in_words(policy()) == ["If no rule matches, people are asked."]
    assert otherwise_in_words(policy(four_eyes=True, repeat_rejections=True)) == [
        "If no rule matches, people are asked, but never the requester.",
        "A request that a person rejected in the last 7 days is rejected again if it is repeated unchanged.",
    ]


def test_numbers_have_the_separators_of_the_reader():
    said = rule(match={"input": [{"pointer": "/amount", "at_most": 1234.5}]})
    with translation.override("de"):
        assert "1.234,5" in requests_in_words(said.match, NAMES)
