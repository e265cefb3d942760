"""A suggested rule or grant covers nothing but what people approved every time. Without a database."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from approvals.policy.grants import GrantCase
from approvals.policy.suggestions import ENOUGH, MAX_COMPARED, DecidedCall, grant_for, rule_for
from approvals.states import Audience, Kind, Priority, Width


def calls(number: int, value: dict[str, Any], *, good: bool = True, **more: Any) -> list[DecidedCall]:
    """Calls with the same input that people approved, or did not."""
    return [DecidedCall(pk=uuid4(), value=value, good=good, by_id=1, **more) for _ in range(number)]


def conditions(decided: list[DecidedCall], tool: str = "pay") -> list[dict[str, Any]] | None:
    """Return the conditions of the suggested rule on members; None if there is no rule."""
    suggested = rule_for(tool, decided)
    if suggested is None:
        return None
    rule, _cases = suggested
    assert (rule["match"]["tools"], rule["then"]) == ([tool], "allow")
    return [each for each in rule["match"]["input"] if "members" not in each]


@pytest.mark.parametrize(("number", "suggested"), [(ENOUGH - 1, False), (ENOUGH, True)])
def test_a_rule_is_suggested_after_twenty_approvals(number, suggested):
    expected = [{"pointer": "/q", "one_of": ["x"]}] if suggested else None
    assert conditions(calls(number, {"q": "x"})) == expected


@pytest.mark.parametrize(
    ("tool", "more"), [("pay*", {}), ("bash", {}), ("pay", {"has_files": True}), ("pay", {"secrets": ["/q"]})]
)
def test_no_rule_is_suggested_for_patterns_programs_files_and_secrets(tool, more):
    assert conditions([*calls(ENOUGH, {"q": "x"}), *calls(1, {"q": "x"}, **more)], tool) is None


def test_a_number_that_was_also_rejected_is_not_suggested():
    approved = [call for number in range(30) for call in calls(1, {"amount": number})]
    decided = [*approved, *calls(1, {"amount": 25}, good=False)]
    assert conditions(decided) == [{"pointer": "/amount", "at_least": 0, "at_most": 24}]
    assert conditions([*approved, *calls(1, {"amount": 0}, good=False)]) is None


def test_values_that_together_were_approved_often_enough_are_suggested():
    approved = [call for country in ("DE", "ES", "FR", "IT") for call in calls(5, {"country": country})]
    rejected = calls(1, {"country": "US"}, good=False)
    expected = [{"pointer": "/country", "one_of": ["DE", "ES", "FR", "IT"]}]
    assert conditions([*approved, *rejected]) == expected
    assert conditions([*approved[1:], *rejected]) is None


def test_a_value_that_was_approved_too_rarely_is_left_out():
    approved = [*calls(30, {"country": "DE"}), *calls(9, {"country": "FR"})]
    rejected = calls(1, {"country": "US"}, good=False)
    assert conditions([*approved, *rejected]) == [{"pointer": "/country", "one_of": ["DE"]}]


def test_free_text_alone_does_not_tell_an_approved_call_from_a_rejected_one():
    approved = calls(ENOUGH, {"text": "Hello", "to": "team"})
    assert conditions([*approved, *calls(1, {"text": "Hello", "to": "all"}, good=False)]) == [
        {"pointer": "/text", "type": "line"},
        {"pointer": "/to", "one_of": ["team"]},
    ]
    assert conditions([*approved, *calls(1, {"text": "Bye", "to": "team"}, good=False)]) is None


def test_a_value_of_another_type_keeps_a_number_from_being_suggested_but_not_what_stands_beside_it():
    approved = calls(ENOUGH, {"amount": 5, "to": "team"})
    rejected = [*calls(1, {"amount": "5", "to": "all"}, good=False), *calls(1, {"amount": 9, "to": "all"}, good=False)]
    suggested = rule_for("pay", [*approved, *rejected])
    assert suggested is not None
    assert suggested[0]["name"] == "pay by to: approved every time"


def test_numbers_are_suggested_below_the_smallest_that_was_rejected():
    approved = [call for number in range(40) for call in calls(1, {"amount": number})]
    rejected = [call for number in (60, 30, 50) for call in calls(1, {"amount": number}, good=False)]
    assert conditions([*approved, *rejected]) == [{"pointer": "/amount", "at_least": 0, "at_most": 29}]
    suggested = rule_for("pay", [*approved, *rejected])
    assert suggested is not None
    assert suggested[0]["name"] == "pay up to 29: approved every time"


def test_a_text_that_is_too_long_for_a_rule_is_left_out():
    approved = [*calls(ENOUGH, {"q": "x"}), *calls(ENOUGH, {"q": "x" * 99})]
    rejected = calls(1, {"q": "y"}, good=False)
    for decided in (approved, [*approved, *rejected]):
        assert conditions(decided) == [{"pointer": "/q", "one_of": ["x"]}]


def test_values_that_few_calls_have_keep_none_of_the_others_from_being_suggested():
    rare = calls(1, {"once": 1, "q": "x"})
    decided = [*rare, *calls(ENOUGH, {"q": "x" * 98}), *calls(1, {"q": "y"}, good=False)]
    assert conditions(decided) == [{"pointer": "/q", "one_of": ["x" * 98]}]


def test_values_are_compared_as_deep_as_an_input_may_be():
    def deep(value: str) -> dict[str, Any]:
        return {"a": {"b": {"c": {"d": value}}}}

    decided = [*calls(ENOUGH, deep("x")), *calls(1, deep("y"), good=False)]
    assert conditions(decided) == [{"pointer": "/a/b/c/d", "one_of": ["x"]}]


def test_a_rule_for_all_calls_of_a_tool_is_named_after_the_tool():
    suggested = rule_for("pay", calls(ENOUGH, {"q": "x"}))
    assert suggested is not None
    assert suggested[0]["name"] == "pay: approved every time"


def test_a_rule_by_the_value_of_a_member_is_named_after_its_place():
    approved = calls(ENOUGH, {"customer": {"country": "DE"}})
    suggested = rule_for("pay", [*approved, *calls(1, {"customer": {"country": "US"}}, good=False)])
    assert suggested is not None
    assert suggested[0]["name"] == "pay by customer.country: approved every time"


@pytest.mark.parametrize(
    ("addresses", "condition"),
    [
        (4, {"one_of": [f"p{number}@ours.com" for number in range(4)]}),
        (5, {"like": "*@ours.com"}),
    ],
)
def test_five_addresses_of_a_domain_stand_for_the_domain(addresses, condition):
    decided = [call for number in range(40) for call in calls(1, {"to": f"p{number % addresses}@ours.com"})]
    assert conditions(decided) == [{"pointer": "/to", "type": "address", **condition}]


def test_addresses_of_several_domains_are_listed_if_they_recur():
    lists = [[f"p{number % 3}@ours.com", f"q{number % 3}@theirs.com"] for number in range(ENOUGH)]
    decided = [call for to in lists for call in calls(1, {"to": to})]
    seen = [*(f"p{number}@ours.com" for number in range(3)), *(f"q{number}@theirs.com" for number in range(3))]
    assert conditions(decided) == [{"pointer": "/to", "type": "addresses", "one_of": seen}]
    different = [call for number in range(ENOUGH) for call in calls(1, {"to": f"a@d{number}.com"})]
    assert conditions(different) is None


@pytest.mark.parametrize(
    ("domain", "words"), [("x" * 46 + ".com", f" to @{'x' * 46}.com"), ("x" * 47 + ".com", " by to")]
)
def test_the_name_of_a_rule_has_a_domain_that_fits(domain, words):
    approved = [call for number in range(ENOUGH) for call in calls(1, {"to": f"p{number}@{domain}"})]
    suggested = rule_for("p" * 99, [*approved, *calls(1, {"to": "a@theirs.com"}, good=False)])
    assert suggested is not None
    rule, _cases = suggested
    name = f"…{words}: approved every time"
    assert rule["name"] == "p" * (100 - len(name)) + name
    assert rule["match"]["input"][1] == {"pointer": "/to", "type": "address", "like": f"*@{domain}"}


def test_a_domain_to_which_any_call_was_rejected_is_not_suggested():
    approved = [call for number in range(ENOUGH) for call in calls(1, {"to": f"p{number}@ours.com"})]
    rejected = calls(1, {"to": "p1@ours.com", "cc": "q@theirs.com"}, good=False)
    assert conditions([*approved, *rejected]) is None


def test_the_domains_of_addresses_are_compared_without_case():
    decided = [
        call for number in range(ENOUGH) for call in calls(1, {"to": f"p{number}@{'OURS' if number else 'ours'}.com"})
    ]
    assert conditions([*decided, *calls(1, {"to": "a@theirs.com"}, good=False)]) == [
        {"pointer": "/to", "type": "address", "like": "*@ours.com"}
    ]


def test_a_domain_is_suggested_for_more_addresses_than_a_rule_could_list():
    approved = [call for number in range(60) for call in calls(1, {"to": f"p{number}@ours.com"})]
    suggested = rule_for("sendEmail", [*approved, *calls(1, {"to": "a@theirs.com"}, good=False)])
    assert suggested is not None
    rule, cases = suggested
    assert (rule["name"], len(cases)) == ("sendEmail to @ours.com: approved every time", 60)
    assert rule_for("sendEmail", [*approved, *calls(1, {"to": "a@ours.com"}, good=False)]) is None


@pytest.mark.parametrize(
    "name",
    [
        *("body", "comment", "description", "message", "note", "notes", "reason", "subject", "summary", "text"),
        *("title", "Title"),
    ],
)
def test_members_with_free_text_may_hold_any_text(name):
    decided = [call for number in range(ENOUGH) for call in calls(1, {"id": "x", name: f"Text {number}"})]
    assert {"pointer": f"/{name}", "type": "line"} in (conditions(decided) or [])


def test_members_whose_name_stands_for_free_text_but_hold_something_else_are_compared():
    assert conditions(calls(ENOUGH, {"note": None})) == [{"pointer": "/note", "one_of": [None]}]


def test_free_text_of_several_lines_may_have_them_and_an_address_among_other_texts_is_a_text():
    decided = [*calls(ENOUGH, {"note": "One", "to": "a@ours.com"}), *calls(1, {"note": "One\nTwo", "to": "team"})]
    assert conditions(decided) == [
        {"pointer": "/note", "type": "text"},
        {"pointer": "/to", "one_of": ["a@ours.com", "team"]},
    ]


@pytest.mark.parametrize(("length", "suggested"), [(98, True), (99, False)])
def test_texts_that_are_too_long_for_a_rule_suggest_none(length, suggested):
    assert (conditions(calls(ENOUGH, {"q": "x" * length})) is not None) is suggested


@pytest.mark.parametrize(("number", "suggested"), [(10, True), (11, False)])
def test_values_are_listed_if_each_occurs_twice_on_average(number, suggested):
    decided = [call for each in range(ENOUGH) for call in calls(1, {"q": f"x{each % number}"})]
    assert (conditions(decided) is not None) is suggested


def test_only_values_make_a_rule_narrow_and_not_the_names_of_members_or_being_text():
    assert conditions(calls(ENOUGH, {"text": "Hello"})) is None
    assert conditions(calls(ENOUGH, {"text": "Hello", "urgent": False})) == [
        {"pointer": "/text", "type": "line"},
        {"pointer": "/urgent", "one_of": [False]},
    ]
    assert conditions(calls(ENOUGH, {"note": "One\nTwo", "n": 1})) == [
        {"pointer": "/n", "at_least": 1, "at_most": 1},
        {"pointer": "/note", "type": "text"},
    ]


@pytest.mark.parametrize(
    ("value", "suggested"),
    [
        ({"a": {"b": {"c": {"d": 1}}}}, True),
        ({"a": {"b": {"c": {"d": {"e": 1}}}}}, False),
        ({"q": "x", "a": {"b": {"c": {"d": {"e": 1}}}}}, False),
        ({"a": {}}, True),
        ({"rows": [{"k": 1}, ["a"]]}, True),
        ({"rows": [1, {"password": "x"}]}, False),
        ({"rows": [["a"], [{"password": "x"}]]}, False),
        ({f"m{number}": 1 for number in range(19)}, True),
        ({f"m{number}": 1 for number in range(20)}, False),
    ],
)
def test_inputs_that_are_too_deep_or_have_too_many_values_suggest_nothing(value, suggested):
    assert (conditions(calls(ENOUGH, value)) is not None) is suggested


def test_most_calls_of_one_shape_are_suggested_and_the_others_are_not_counted():
    decided = [*calls(ENOUGH, {"q": "x"}), *calls(5, {"q": "x", "more": 1})]
    suggested = rule_for("pay", decided)
    assert suggested is not None
    rule, cases = suggested
    assert (rule["match"]["input"][0], len(cases)) == ({"pointer": "", "members": ["q"]}, ENOUGH)


def test_of_several_rules_the_one_with_the_most_approvals_is_suggested():
    approved = [*calls(30, {"country": "DE", "amount": 5}), *calls(ENOUGH, {"country": "FR", "amount": 2})]
    rejected = calls(1, {"country": "FR", "amount": 3}, good=False)
    suggested = rule_for("pay", [*approved, *rejected])
    assert suggested is not None
    rule, cases = suggested
    assert (rule["name"], len(cases)) == ("pay by country: approved every time", 30)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("pay", "pay up to 7: approved every time"),
        ("p" * 71, "p" * 71 + " up to 7: approved every time"),
        ("p" * 72, "p" * 70 + "… up to 7: approved every time"),
    ],
)
def test_the_name_of_a_rule_says_what_was_approved_and_is_never_too_long(tool, name):
    suggested = rule_for(tool, [*calls(ENOUGH, {"amount": 7}), *calls(1, {"amount": 8}, good=False)])
    assert suggested is not None
    assert (suggested[0]["name"], len(name) <= 100) == (name, True)


def test_of_many_decisions_the_latest_are_compared_and_every_rejection():
    older = [*calls(1, {"country": "DE"}, good=False), *calls(1, {"country": "US"}, good=False)]
    latest = [call for _ in range(MAX_COMPARED) for country in ("DE", "FR") for call in calls(1, {"country": country})]
    suggested = rule_for("refund", latest + older)
    assert suggested is not None
    rule, cases = suggested
    assert rule["match"]["input"][1:] == [{"pointer": "/country", "one_of": ["FR"]}]
    assert len(cases) == MAX_COMPARED / 2


CASE = GrantCase(kind=Kind.APPROVAL, priority=Priority.NORMAL, tool="pay", input={}, agent="billing", by_key=True)
MINE = {"requester": 7, "scope": "key:1", "agent": "billing", "fingerprint": "a"}


@pytest.mark.parametrize(
    ("changes", "audience"),
    [({}, Audience.AGENT), ({"agent": ""}, Audience.KEY), ({"agent": "", "by_key": False, "lasting": True}, None)],
)
def test_a_grant_is_suggested_to_the_agent_or_else_the_key_that_asks(changes, audience):
    case = GrantCase(**{name: getattr(CASE, name) for name in CASE.__slots__} | changes)
    decided = calls(ENOUGH, {}, **MINE)
    expected = None if audience is None else (Width.INPUT, audience, decided)
    wanted = grant_for(case, requester=7, scope="key:1", fingerprints=["a", "b"], decided=decided)
    assert wanted == expected


@pytest.mark.parametrize(
    ("agent", "other", "counts"),
    [
        ("billing", {"requester": 8}, False),
        ("billing", {"fingerprint": "c"}, False),
        ("billing", {"fingerprint": "b"}, True),
        ("billing", {"agent": "support"}, False),
        ("billing", {"scope": "key:2"}, True),
        ("", {"scope": "key:2"}, False),
        ("", {"agent": "support"}, True),
    ],
)
def test_a_grant_is_suggested_for_calls_that_it_would_have_approved(agent, other, counts):
    case = GrantCase(**{name: getattr(CASE, name) for name in CASE.__slots__} | {"agent": agent})

    def is_suggested(*more: DecidedCall) -> bool:
        decided = [*calls(ENOUGH - 1, {}, **MINE), *more]
        return grant_for(case, requester=7, scope="key:1", fingerprints=["a", "b"], decided=decided) is not None

    assert is_suggested(*calls(1, {}, **MINE | other)) is counts
    # A rejection speaks against a grant that would have approved the call, and against no other.
    rejection = calls(1, {}, good=False, **MINE | other)
    assert is_suggested(*calls(1, {}, **MINE), *rejection) is not counts
