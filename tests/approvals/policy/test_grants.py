"""Which grants may be given with a request: each term within its bounds, and those of the tool."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from approvals.policy.grant_bars import Bar, bar_of
from approvals.policy.grants import (
    GrantCase,
    GrantLimits,
    GrantTerms,
    audiences,
    fields_of,
    impossible,
    problems,
    widest,
)
from approvals.policy.match import Match
from approvals.policy.rules import UNRULED, AskedBecause, PolicyVerdict, Rule, Then
from approvals.policy.terms import NO_TERMS, MessageRule, Stage, Terms, VoterGroup
from approvals.states import Audience, Kind, Priority, Width
from tests.approvals.policy.writing import AT

HOUR, DAY, SECOND = timedelta(hours=1), timedelta(days=1), timedelta(seconds=1)


def case(**changes: Any) -> GrantCase:
    """A request with which every grant can be given."""
    known = {"kind": Kind.APPROVAL, "priority": Priority.NORMAL, "tool": "refund", "agent": "billing"}
    more = {"input": {"order": "4711"}, "key_fields": ["/order"], "by_key": True, "lasting": True, "thread": "chat-1"}
    return GrantCase(**known | more | changes)


def problems_of(terms: dict[str, Any], known: GrantCase) -> dict[str, str]:
    """Return the errors in the terms of a grant of ten uses, with these changes."""
    wanted = GrantTerms(**{"width": Width.INPUT, "audience": Audience.AGENT, "uses": 10} | terms)
    return {name: str(problem) for name, problem in problems(wanted, known, AT).items()}


@pytest.mark.parametrize(
    ("terms", "changes"),
    [
        *(({"width": width}, {}) for width in Width),
        *(({"audience": audience}, {}) for audience in Audience),
        *(({"uses": uses}, {}) for uses in (1, 10_000)),
        *(({"uses": None, "until": AT + span}, {}) for span in (SECOND, 90 * DAY)),
        ({"until": AT + HOUR}, {}),
        ({"reason": "x" * 1_000}, {}),
        ({"uses": 5}, {"limits": GrantLimits(uses=5)}),
        ({"uses": None, "until": AT + HOUR}, {"limits": GrantLimits(seconds=3_600)}),
        ({"width": Width.FIELDS}, {"limits": GrantLimits(width=Width.FIELDS)}),
        # The settings of a tool that runs its input as code may allow any input.
        ({"width": Width.TOOL}, {"tool": "bash", "limits": GrantLimits(width=Width.TOOL)}),
        ({"width": Width.INPUT}, {"has_files": True}),
        *(({"width": width}, {"key_fields": []}) for width in (Width.INPUT, Width.TOOL)),
        # Fields that the audience does not name may be missing.
        ({"audience": Audience.AGENT}, {"by_key": False, "lasting": False, "thread": ""}),
        ({"audience": Audience.KEY}, {"agent": "", "lasting": False, "thread": ""}),
    ],
)
def test_a_grant_within_all_bounds_may_be_given(terms, changes):
    assert problems_of(terms, case(**changes)) == {}


@pytest.mark.parametrize(
    ("until", "uses", "limits", "expected"),
    [
        (None, None, GrantLimits(), {"until": "is missing: enter a time, a number of uses, or both"}),
        (AT, 10, GrantLimits(), {"until": "must be in the future"}),
        (AT - SECOND, None, GrantLimits(), {"until": "must be in the future"}),
        (AT + 90 * DAY + SECOND, None, GrantLimits(), {"until": "is too far away: a grant lasts at most 90 days"}),
        (
            AT + HOUR + SECOND,
            None,
            GrantLimits(seconds=3_600),
            {"until": "is too far away: the settings of the tool allow at most 1 hour"},
        ),
        (None, 10, GrantLimits(seconds=3_600), {"until": "is missing: the settings of the tool allow at most 1 hour"}),
        (None, 0, GrantLimits(), {"uses": "must be at least 1"}),
        (None, -1, GrantLimits(), {"uses": "must be at least 1"}),
        (None, 10_001, GrantLimits(), {"uses": "is too many: a grant has at most 10,000"}),
        (None, 6, GrantLimits(uses=5), {"uses": "is too many: the settings of the tool allow at most 5"}),
        (AT + HOUR, None, GrantLimits(uses=5), {"uses": "is missing: the settings of the tool allow at most 5"}),
        (
            None,
            None,
            GrantLimits(seconds=3_600, uses=5),
            {
                "until": "is missing: the settings of the tool allow at most 1 hour",
                "uses": "is missing: the settings of the tool allow at most 5",
            },
        ),
    ],
)
def test_a_grant_ends_by_itself_within_its_bounds_and_those_of_the_tool(until, uses, limits, expected):
    assert problems_of({"until": until, "uses": uses}, case(limits=limits)) == expected


@pytest.mark.parametrize(
    ("terms", "limits", "expected"),
    [
        (
            {"until": AT + 90 * DAY + SECOND},
            GrantLimits(seconds=100 * 86_400),
            {"until": "is too far away: the settings of the tool allow at most 90 days"},
        ),
        (
            {"until": None},
            GrantLimits(seconds=100 * 86_400),
            {"until": "is missing: the settings of the tool allow at most 90 days"},
        ),
        (
            {"uses": 10_001},
            GrantLimits(uses=20_000),
            {"uses": "is too many: the settings of the tool allow at most 10,000"},
        ),
        (
            {"uses": None, "until": AT + HOUR},
            GrantLimits(uses=20_000),
            {"uses": "is missing: the settings of the tool allow at most 10,000"},
        ),
    ],
)
def test_the_settings_of_a_tool_do_not_allow_more_than_any_grant_may_have(terms, limits, expected):
    assert problems_of(terms, case(limits=limits)) == expected


RUNS = (
    "must be this exact input: the tool runs commands or changes files. An administrator can allow more in its settings"
)
FILES = "must be this exact input: the request has files, which are part of the approval"
WIDER = "is broader than the settings of the tool allow"


@pytest.mark.parametrize(
    ("width", "changes", "expected"),
    [
        (Width.TOOL, {"tool": "bash"}, RUNS),
        (Width.FIELDS, {"tool": "bash"}, RUNS),
        (Width.TOOL, {"has_files": True}, FILES),
        (Width.FIELDS, {"has_files": True}, FILES),
        (Width.TOOL, {"has_files": True, "limits": GrantLimits(width=Width.TOOL)}, FILES),
        (Width.TOOL, {"limits": GrantLimits(width=Width.FIELDS)}, WIDER),
        (Width.FIELDS, {"limits": GrantLimits(width=Width.INPUT)}, WIDER),
        (
            Width.FIELDS,
            {"key_fields": []},
            "needs key fields, which an administrator can choose in the settings of the tool",
        ),
        (Width.FIELDS, {"input": {"amount": 120}}, "is not possible: the input lacks a key field of the tool"),
        (
            Width.FIELDS,
            {"key_fields": ["/amount", "/order"]},
            "is not possible: the input lacks a key field of the tool",
        ),
    ],
)
def test_a_grant_covers_no_more_than_its_request_and_its_tool_allow(width, changes, expected):
    assert problems_of({"width": width}, case(**changes)) == {"covers": expected}


@pytest.mark.parametrize(
    ("audience", "changes", "expected"),
    [
        (Audience.AGENT, {"agent": ""}, "is not possible: the request names no agent"),
        (Audience.KEY, {"by_key": False}, "is not possible: the request was not made with an API key"),
        (Audience.WORKFLOW, {"lasting": False}, "is not possible: the workflow ends with this request"),
        (Audience.THREAD, {"thread": ""}, "is not possible: the request names no conversation"),
    ],
)
def test_a_grant_is_for_no_one_whom_its_request_does_not_name(audience, changes, expected):
    assert problems_of({"audience": audience}, case(**changes)) == {"audience": expected}


def test_every_problem_is_named_at_once():
    wrong = {"width": Width.TOOL, "audience": Audience.KEY, "until": AT, "uses": 0, "reason": "x" * 1_001}
    assert problems_of(wrong, case(tool="bash", by_key=False)) == {
        "covers": RUNS,
        "audience": "is not possible: the request was not made with an API key",
        "until": "must be in the future",
        "uses": "must be at least 1",
        "reason": "is longer than 1,000 characters",
    }


BARS = {
    Bar.KIND: "is only possible for approvals: a question, form or recovery needs a person",
    Bar.CRITICAL: "is not possible for a critical request, which needs a person each time",
    Bar.NO_TOOL: "is not possible for a request without a tool",
    Bar.DENIED: "is not possible: the policy rule “Refunds” denies such calls",
    Bar.ALLOWED: "is not needed: the policy rule “Refunds” allows such calls",
    Bar.FILES: "is not possible: the policy rule “Refunds” asks people about each call with files",
    Bar.UNCERTAIN: ("is not possible: it is not certain which policy rule matches, so people decide each such call"),
    Bar.STOPPED: "is not possible: “Ask about everything” is on",
    Bar.PEOPLE: "is not possible: people must decide each of these requests",
    Bar.FOUR_EYES: "is not possible: the two-person rule applies to such calls, and you are the requester",
    Bar.NO_RIGHT: "is not possible: you may not decide such calls now",
}


@pytest.mark.parametrize("bar", Bar)
def test_a_grant_that_would_not_be_used_is_refused_whatever_its_terms_are(bar):
    barred = case(bar=bar, rule="Refunds")
    assert (str(impossible(barred)), problems_of({"uses": 0}, barred)) == (BARS[bar], {"": BARS[bar]})


def test_a_tool_whose_settings_allow_no_grants_has_none():
    never = "is not possible for this tool: its settings say that a person decides each time"
    assert problems_of({}, case(limits=GrantLimits(never=True))) == {"": never}
    assert problems_of({}, case(limits=GrantLimits(never=True), bar=Bar.DENIED, rule="Refunds")) == {"": never}


def test_the_key_fields_of_an_input_are_the_same_in_whatever_order_they_are_listed():
    value = {"order": "4711", "amount": 120, "note": "The cups"}
    fields = [{"pointer": "/amount", "value": 120}, {"pointer": "/order", "value": "4711"}]
    for pointers in (["/order", "/amount"], ["/amount", "/order"], ["/order", "/amount", "/order"]):
        assert fields_of(value, pointers) == fields


@pytest.mark.parametrize("pointers", [[], ["/order", "/missing"], ["/order/number"]])
def test_an_input_that_lacks_a_key_field_has_none(pointers):
    assert fields_of({"order": "4711"}, pointers) is None


def test_a_key_field_that_is_null_is_a_value():
    assert fields_of({"order": None}, ["/order"]) == [{"pointer": "/order", "value": None}]


def test_a_request_of_which_only_the_tool_is_known_can_have_a_grant_of_any_input_for_no_one():
    plain = GrantCase(kind=Kind.APPROVAL, priority=Priority.NORMAL, tool="refund", input={})
    assert (widest(plain), audiences(plain), impossible(plain)) == (Width.TOOL, [], None)


ALLOWS, DENIES = (
    PolicyVerdict(then=then, rule=Rule(name="A", match=Match(), then=then)) for then in (Then.ALLOW, Then.DENY)
)
VOTES = Terms(stages=(Stage(groups=(VoterGroup(),)),))


@pytest.mark.parametrize(
    ("changes", "bar"),
    [
        ({}, None),
        ({"verdict": UNRULED}, None),
        *(({"kind": kind}, Bar.KIND) for kind in Kind if kind != Kind.APPROVAL),
        ({"priority": Priority.HIGH}, None),
        ({"priority": Priority.CRITICAL}, Bar.CRITICAL),
        ({"tool": ""}, Bar.NO_TOOL),
        ({"verdict": DENIES}, Bar.DENIED),
        ({"verdict": ALLOWS}, Bar.ALLOWED),
        ({"verdict": PolicyVerdict(why=AskedBecause.CONDITION)}, Bar.UNCERTAIN),
        ({"verdict": PolicyVerdict(why=AskedBecause.CRITICAL)}, Bar.CRITICAL),
        ({"verdict": PolicyVerdict(why=AskedBecause.FILES)}, Bar.FILES),
        ({"verdict": PolicyVerdict(why=AskedBecause.STOPPED)}, Bar.STOPPED),
        # The terms of a pending request, regardless of the live policy.
        ({"terms": VOTES}, Bar.PEOPLE),
        ({"terms": Terms(veto=True)}, Bar.PEOPLE),
        ({"terms": Terms(typed_name=True)}, Bar.PEOPLE),
        ({"terms": Terms(fresh_sign_in=True)}, Bar.PEOPLE),
        ({"terms": Terms(reason=MessageRule.ALWAYS)}, Bar.PEOPLE),
        ({"terms": Terms(reason=MessageRule.REJECTION, reminders=(60,), channels=("mail",))}, None),
        ({"terms": VOTES, "verdict": UNRULED}, Bar.PEOPLE),
        ({"terms": VOTES, "verdict": DENIES}, Bar.DENIED),
    ],
)
def test_a_call_is_approved_by_a_grant_unless_people_or_a_rule_decide_it(changes, bar):
    known = {"kind": Kind.APPROVAL, "priority": Priority.NORMAL, "tool": "refund", "verdict": None, "terms": NO_TERMS}
    assert bar_of(**known | changes) == bar
