"""Matches: which requests fit, and why; a table of hostile names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.db.json_pointer import ABSENT, is_pointer, pointer_to, value_at
from approvals.policy.documents import match_from
from approvals.policy.globs import pattern_of, plain_test
from approvals.policy.match import Facts, Match, server_of

REFUND = Facts(
    agent="Billing agent",
    tool="mcp__crm__refund",
    kind="approval",
    source="api",
    server="crm",
    requester=7,
    priority="high",
    input={"amount": 99.5, "customer": {"name": "Ada", "a/b": 1, "m~n": 2}, "lines": [{"sku": "x"}], "note": None},
)


def condition(pointer: str, **test: object) -> Match:
    return match_from({"input": [{"pointer": pointer, **test}]})


def test_an_empty_match_fits_every_request():
    assert match_from({}).fits(Facts())
    assert match_from({}).reasons(REFUND) == []


@pytest.mark.parametrize(
    ("document", "fits"),
    [
        ({"agents": ["billing AGENT"]}, True),
        ({"agents": ["billing"]}, False),
        ({"agents": ["support", "b*"]}, True),
        ({"tools": ["mcp__*__refund"]}, True),
        ({"servers": ["*"]}, True),
        ({"servers": ["erp"]}, False),
        ({"kinds": ["approval"]}, True),
        ({"kinds": ["question", "form"]}, False),
        ({"sources": ["mcp", "api"]}, True),
        ({"requesters": [6, 7]}, True),
        ({"requesters": [8]}, False),
        ({"priorities": ["critical"]}, False),
        ({"tools": ["mcp__*"], "requesters": [8]}, False),
        ({"tools": ["mcp__*"], "requesters": [7], "input": [{"pointer": "/amount", "at_most": 100}]}, True),
    ],
)
def test_all_lists_must_fit_and_of_each_one_item(document, fits):
    match = match_from(document)
    assert match.fits(REFUND) == fits
    assert all(reason.fits for reason in match.reasons(REFUND)) == fits


@pytest.mark.parametrize("name", ["agents", "tools", "servers"])
def test_what_a_request_lacks_fits_no_pattern(name):
    assert not match_from({name: ["*"]}).fits(Facts())


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        # Case, and how Unicode writes a name.
        ("bash", "BASH", True),
        ("BASH", "bash", True),
        ("bash", "\uff22\uff41\uff53\uff48", True),
        ("straße", "STRASSE", True),
        ("café", "cafe\u0301", True),
        ("CAFÉ", "cafe\u0301", True),
        ("task", "tas\u212a", True),
        ("file", "\ufb01le", True),
        # Look-alikes are other names.
        ("bash", "b\u0430sh", False),
        ("paypal", "\u0440\u0430\u0443\u0440\u0430l", False),
        ("bash", "ba\u200bsh", False),
        ("bash", "bash ", False),
        ("bash", "bash\n", False),
        ("bash", "bash\x00", False),
        ("istanbul", "\u0131stanbul", False),
        ("o", "0", False),
        # A star in the name of a tool is a character like any other; no other character is special.
        ("*", "*", True),
        ("a*b", "a*b", True),
        ("a*b", "axb", True),
        ("axb", "a*b", False),
        ("a**b", "ab", True),
        ("read", "*", False),
        ("re.d", "read", False),
        ("rea?", "read", False),
        ("[r]ead", "read", False),
        ("read*", "thread", False),
        ("a*a", "a", False),
        ("ab*ba", "aba", False),
    ],
)
def test_hostile_names(pattern, name, fits):
    assert Match(tools=(pattern,)).fits(Facts(tool=name)) == fits
    assert Match(agents=(pattern,)).fits(Facts(agent=name)) == fits


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/customer/name", "Ada"),
        ("/customer/a~1b", 1),
        ("/customer/m~0n", 2),
        ("/lines/0/sku", "x"),
        ("/note", None),
        ("/customer/a/b", ABSENT),
        ("/customer/m~1n", ABSENT),
        ("/lines/00/sku", ABSENT),
        ("/lines/-1/sku", ABSENT),
        ("/lines/+0/sku", ABSENT),
        ("/lines/\u0660/sku", ABSENT),
        ("/lines/-", ABSENT),
        ("/lines/1", ABSENT),
        ("/lines/999999999999", ABSENT),
        ("/amount/0", ABSENT),
        ("/customer/name/0", ABSENT),
        ("/", ABSENT),
        ("amount", ABSENT),
    ],
)
def test_pointers_lead_to_values(pointer, value):
    assert value_at(REFUND.input, pointer) == value
    if is_pointer(pointer) and value is not ABSENT:
        assert condition(pointer, equals=value).fits(REFUND)
    elif is_pointer(pointer):
        assert not condition(pointer, equals=None).fits(REFUND)


@given(st.lists(st.text(max_size=4), max_size=4))
def test_a_pointer_through_any_names_leads_to_its_value(names):
    value: object = "here"
    for name in reversed(names):
        value = {name: value}
    pointer = pointer_to(*names)
    assert is_pointer(pointer)
    assert value_at(value, pointer) == "here"


@pytest.mark.parametrize(
    ("value", "test", "fits"),
    [
        (1, {"equals": 1}, True),
        (1, {"equals": 1.0}, True),
        (1.0, {"equals": 1}, True),
        (True, {"equals": 1}, False),
        (1, {"equals": True}, False),
        (False, {"equals": 0}, False),
        ("1", {"equals": 1}, False),
        (1, {"equals": "1"}, False),
        (None, {"equals": None}, True),
        (None, {"equals": False}, False),
        ("", {"equals": None}, False),
        (0, {"equals": ""}, False),
        ("Ada", {"equals": "ada"}, False),
        ("e\u0301", {"equals": "\u00e9"}, False),
        ({"a": [1, True]}, {"equals": {"a": [1.0, True]}}, True),
        ({"a": [1, True]}, {"equals": {"a": [1, 1]}}, False),
        ({"a": 1}, {"equals": {"a": 1, "b": 2}}, False),
        ("b", {"one_of": ["a", "b"]}, True),
        (1, {"one_of": ["1", True]}, False),
        (5, {"at_least": 5, "at_most": 5}, True),
        (5, {"at_least": 5.1}, False),
        (5, {"at_most": 4.9}, False),
        (9_007_199_254_740_991, {"at_most": 9_007_199_254_740_990}, False),
        (True, {"at_least": 0}, False),
        ("5", {"at_least": 0}, False),
        (None, {"at_most": 0}, False),
        ([5], {"at_least": 0}, False),
        ("/data/x", {"starts_with": "/data/"}, True),
        ("/DATA/x", {"starts_with": "/data/"}, False),
        # A text, and no path.
        ("/data/../etc/passwd", {"starts_with": "/data/"}, True),
        (["/data/x"], {"starts_with": "/data/"}, False),
        ("a.b@example.com", {"like": "*@example.com"}, True),
        ("a@example.com.evil.test", {"like": "*@example.com"}, False),
        ("A@EXAMPLE.COM", {"like": "*@example.com"}, False),
        ("a\nb@example.com", {"like": "*@example.com"}, True),
        (5, {"like": "*"}, False),
    ],
)
def test_values_are_compared_strictly(value, test, fits):
    match = condition("/x", **test)
    assert match.fits(Facts(input={"x": value})) == fits
    assert [reason.fits for reason in match.reasons(Facts(input={"x": value}))] == [fits]
    assert not match.fits(Facts(input={}))
    assert not match.fits(Facts(input={"y": {"x": value}}))


def test_reasons_say_for_people_what_fits_and_what_does_not():
    match = match_from(
        {
            "agents": ["support", "bill*"],
            "tools": ["send_mail"],
            "priorities": ["low", "normal"],
            "input": [
                {"pointer": "/amount", "at_most": 100},
                {"pointer": "/customer/name", "one_of": ["Bob", "Eve"]},
                {"pointer": "/customer/id", "equals": 1},
            ],
        }
    )
    assert [(reason.about, reason.fits, str(reason.sentence)) for reason in match.reasons(REFUND)] == [
        ("tools", False, "“mcp__crm__refund” is not “send_mail”"),
        ("agents", True, "“Billing agent” matches “bill*”"),
        ("priorities", False, "“high” is not “low”, “normal”"),
        ("/amount", True, "is 99.5"),
        ("/customer/name", False, 'must be one of "Bob", "Eve"'),
        ("/customer/id", False, "is missing"),
    ]


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        ({"equals": "EUR"}, 'must be "EUR"'),
        ({"equals": "Zoë"}, 'must be "Zoë"'),
        ({"equals": "b" * 78}, f'must be "{"b" * 78}"'),
        ({"one_of": [1, None]}, "must be one of 1, null"),
        ({"one_of": [1, 2, 3, 4, 5]}, "must be one of 1, 2, 3, 4, 5"),
        ({"one_of": [1, 2, 3, 4, 5, 6]}, "must be one of 1, 2, 3, 4, 5, …"),
        ({"at_least": 5}, "must be a number of at least 5"),
        ({"at_most": 50}, "must be a number of at most 50"),
        ({"more_than": 5}, "must be a number of more than 5"),
        ({"less_than": 5}, "must be a number of less than 5"),
        ({"at_least": 5, "at_most": 50}, "must be a number from 5 to 50"),
        ({"starts_with": "/srv/"}, 'must be text that starts with "/srv/"'),
        ({"like": "*.pdf"}, 'must be text like "*.pdf"'),
        ({"members": ["a", "b"]}, 'must be an object with no other members than "a", "b"'),
        ({"type": "amount"}, "must be a number of at least 0"),
        ({"type": "address", "like": "*@ours.com"}, 'must be one email address; it must be text like "*@ours.com"'),
    ],
)
def test_the_reason_of_a_value_that_does_not_fit_says_what_it_must_be(test, sentence):
    match = match_from({"input": [{"pointer": "/value", **test}]})
    [reason] = match.reasons(Facts(input={"value": [7]}))
    assert (reason.about, reason.fits, str(reason.sentence)) == ("/value", False, sentence)


def test_the_reason_of_a_request_without_what_a_list_names_says_that_there_is_none():
    reasons = match_from({"agents": ["bill*"], "requesters": [7]}).reasons(Facts(tool="refund"))
    assert [(reason.about, reason.fits, str(reason.sentence)) for reason in reasons] == [
        ("agents", False, "there is none, but it must be “bill*”"),
        ("requesters", False, "there is none, but it must be “7”"),
    ]


def test_a_request_of_which_nothing_is_known_matches_no_list():
    match = match_from({"kinds": ["form"], "priorities": ["low"], "sources": ["api"]})
    reasons = [str(reason.sentence) for reason in match.reasons(Facts())]
    assert reasons == [f"there is none, but it must be “{name}”" for name in ("form", "low", "api")]


def test_reasons_are_short_and_show_what_is_invisible():
    match, facts = match_from({"tools": ["x"]}), Facts(tool="a\u202e" + "b" * 1_000)
    [reason] = match.reasons(facts)
    assert str(reason.sentence) == "“a⟨U+202E⟩" + "b" * 78 + "…” is not “x”"


@pytest.mark.parametrize(
    ("tool", "server"),
    [
        ("mcp__crm__refund", "crm"),
        ("MCP__crm__a__b", "crm"),
        ("mcp__crm", ""),
        ("mcp____refund", ""),
        ("xmcp__crm__refund", ""),
        ("Bash", ""),
        ("", ""),
    ],
)
def test_the_server_of_a_tool_is_in_its_name(tool, server):
    assert server_of(tool) == server


@pytest.mark.parametrize(
    ("wide", "narrow", "covers"),
    [
        ({}, {}, True),
        ({}, {"tools": ["refund"]}, True),
        ({"tools": ["refund"]}, {}, False),
        ({"tools": ["refund"]}, {"tools": ["REFUND"]}, True),
        ({"tools": ["refund*", "pay"]}, {"tools": ["pay", "refund_all", "refunds*"]}, True),
        ({"tools": ["refund*", "pay"]}, {"tools": ["pay", "wire"]}, False),
        ({"tools": ["refund"]}, {"tools": ["refund*"]}, False),
        ({"tools": ["refund"]}, {"agents": ["billing"]}, False),
        ({"agents": ["b*"], "requesters": [7, 8]}, {"agents": ["billing"], "requesters": [8]}, True),
        ({"requesters": [7]}, {"requesters": [7, 8]}, False),
        # Approvals alone are decided by rules, so the kinds are compared elsewhere.
        ({"kinds": ["approval"], "priorities": ["low"]}, {"priorities": ["low"]}, True),
        ({"kinds": ["approval"], "priorities": ["low"]}, {"priorities": ["high"]}, False),
    ],
)
def test_a_match_covers_another_if_every_request_of_the_other_is_one_of_its_own(wide, narrow, covers):
    assert match_from(wide).covers_lists(match_from(narrow)) is covers


@pytest.mark.parametrize(
    ("pattern", "test", "text"),
    [
        ("*@ours.com", "ends_with", "@ours.com"),
        ("*ours*", "contains", "ours"),
        ("ours*", "like", "ours*"),
        ("ours", "like", "ours"),
        ("a*b", "like", "a*b"),
        ("a*b*", "like", "a*b*"),
        ("*a*b*", "like", "*a*b*"),
        ("*", "like", "*"),
        ("**", "like", "**"),
    ],
)
def test_a_pattern_that_people_know_by_another_name_has_that_one(pattern, test, text):
    assert (plain_test(pattern), pattern_of(test, text)) == ((test, text), pattern)
