"""A typed value is read as people mean it: a rule that names one lets through no other value of a client."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.documents import InvalidMatch, match_from
from approvals.policy.match import Facts
from approvals.policy.policies import Directory, policy_of, stored_form
from approvals.policy.rules import Policy, evaluate
from approvals.policy.suggestions import DecidedCall, rule_for
from approvals.policy.value_types import ValueType, compared, is_of
from tests.approvals.policy.writing import facts, policy
from tests.support.root import ROOT

#: Values that are of no type.
OTHERS = [None, True, False, [], {}, [[]], {"a": 1}, -1]
#: Characters that separate two addresses, or hide one, in some mail program.
BETWEEN = (
    ";",
    ",",
    " ",
    "\t",
    "\n",
    "\r\nBcc: ",
    "\nBcc: ",
    "\uff0c",
    "\uff1b",
    "\u2028",
    "\u2029",
    "\x00",
    "\x0b",
    "\u0085",
    "%2c",
    "> <",
)

GOOD = {
    ValueType.ADDRESS: ["bob@ours.com", "bob.miller+x@mail.ours.com", "BOB@Ours.COM", f"{'a' * 245}@ours.com"],
    ValueType.ADDRESSES: [["bob@ours.com"], ["a@ours.com", "b@ours.com"]],
    ValueType.AMOUNT: [0, 5, 0.5, 10**400],
    ValueType.PATH: [
        "/srv/reports/a b.pdf",
        "reports/2026/x.csv",
        ".env",
        "\u00fcbersicht.txt",
        "dir/",
        "/X/XX",
        "a" * 1_000,
    ],
    ValueType.HOST: ["ours.com", "localhost", "a-1.ours.com", f"{'a.' * 126}a"],
    ValueType.LINE: ["Hello, Bob!", "", "\u00dc"],
    ValueType.TEXT: ["a\nb", ""],
}
BAD = {
    ValueType.ADDRESS: [
        *(f"evil@evil.com{between}bob@ours.com" for between in BETWEEN),
        *(f"bob@ours.com{between}" for between in BETWEEN),
        *(
            "Bob <bob@ours.com>",
            '"a@b"@ours.com',
            "bob",
            "@ours.com",
            "bob@",
            "bob@localhost",
            "a@b@ours.com",
            "bob@-ours.com",
        ),
        *(
            "b\u00f6b@ours.com",
            "bob@\u00f6urs.com",
            "bob@\uff4furs.com",
            "bob@[1.2.3.4]",
            "(x)bob@ours.com",
            "bob@ours.com.",
        ),
        *("..bob@ours.com", f"{'a' * 246}@ours.com", ["bob@ours.com"], {"email": "bob@ours.com"}),
    ],
    ValueType.ADDRESSES: [
        "bob@ours.com",
        ["bob@ours.com", 5],
        [["bob@ours.com"]],
        ["a@ours.com,b@ours.com"],
        {"0": "a@ours.com"},
    ],
    ValueType.AMOUNT: ["5", "-5", -1e15, -0.1, float("inf"), float("nan"), [5], {"value": 5}],
    ValueType.PATH: [
        *(
            "../x",
            "/srv/../etc/passwd",
            "/srv/./x",
            "/srv//x",
            "//srv",
            "~/x",
            "a\\b",
            "C:/x",
            "a\x00b",
            "a\nb",
            "a%2e%2e/b",
        ),
        *(
            "$HOME/x",
            "*.txt",
            "a/ /b",
            "a/.. /b",
            "a/...",
            "\uff0e\uff0e/x",
            "a\uff0fb",
            "file:///etc",
            " a",
            "a/b ",
            "\u202ea",
        ),
        *("a" * 1_001, ["a"], "\uff41.txt", "\ufb01le.txt"),
    ],
    ValueType.HOST: [
        "https://ours.com",
        "ours.com:80",
        "ours.com/",
        "a@ours.com",
        "ours..com",
        "ours.com.",
        "-a.com",
        "a b",
        "\uff4furs.com",
        f"{'a.' * 126}aa",
    ],
    ValueType.LINE: ["a\nb", "a\rb", "a\u2028b", "a\u2029b", "a\u0085b", "a\x0bb", "a\x00", "a\tb", ["a"], 5],
    ValueType.TEXT: [5, ["a"], {"a": "b"}, True, None],
}


@pytest.mark.parametrize("kind", ValueType)
def test_values_of_a_type_are_what_is_meant_by_it(kind):
    refused = {repr(value) for value in GOOD[kind] if not is_of(kind, value)}
    taken = {repr(value) for value in [*BAD[kind], *OTHERS] if is_of(kind, value)}
    assert (refused, taken) == (set(), set())


@pytest.mark.parametrize(
    ("kind", "value", "form"),
    [
        (ValueType.ADDRESS, "Bob@Ours.COM", "Bob@ours.com"),
        (ValueType.ADDRESSES, "Bob@Ours.COM", "Bob@ours.com"),
        (ValueType.HOST, "Ours.COM", "ours.com"),
        (ValueType.LINE, "Bob@Ours.COM", "Bob@Ours.COM"),
    ],
)
def test_only_domains_are_compared_without_case(kind, value, form):
    assert compared(kind, value) == form


def matches(test: dict[str, Any], value: Any) -> bool:
    return match_from({"input": [{"pointer": "/v", **test}]}).fits(Facts(input={"v": value}))


@pytest.mark.parametrize(
    ("test", "fitting", "others"),
    [
        ({"type": "address", "like": "*@Ours.com"}, ["a@ours.com", "a@OURS.COM"], ["a@x.ours.com", "a@evil-ours.com"]),
        ({"type": "address", "like": "*@*.ours.com"}, ["a@x.ours.com"], ["a@ours.com", "a@xours.com"]),
        ({"type": "address", "equals": "Bob@ours.com"}, ["Bob@Ours.com"], ["bob@ours.com", ["Bob@ours.com"]]),
        ({"type": "addresses", "one_of": ["a@x.com", "b@x.com"]}, [["b@x.com"], ["b@X.com"]], [["c@x.com"], [], "a@x.com"]),
        ({"type": "address", "one_of": ["a@X.com", "b@x.com"]}, ["a@x.com", "a@X.COM"], ["A@x.com", "a@y.com"]),
        ({"type": "host", "equals": "Ours.com"}, ["ours.com", "OURS.com"], ["a.ours.com"]),
        ({"type": "addresses", "like": "*@x.com"}, [["a@x.com"]], [["a@x.com", "b@y.com"]]),
        ({"type": "amount", "at_most": 50}, [0, 50], [-1e15, 51, "5", True]),
        ({"type": "amount"}, [5], [-5, "5"]),
        ({"type": "path", "starts_with": "/srv/"}, ["/srv/a"], ["/srv", "/srv/../etc", "/srvx"]),
        ({"type": "path", "like": "*.csv"}, ["a/b.csv"], ["../b.csv", "b.csv\n"]),
        ({"type": "host", "like": "*.ours.com"}, ["a.ours.com", "a.OURS.com"], ["ours.com", "x.com#.ours.com", "a.ours.com:80"]),
        ({"type": "line", "starts_with": "Re: "}, ["Re: x"], ["Re: x\nBcc: y"]),
        ({"members": ["a", "b"]}, [{"a": 1}, {}], [{"c": 1}, ["a"], "a", None]),
        ({"at_most": 50}, [0, 50], [-1, -1e15, "5", True]),
        ({"at_most": 0}, [0], [-1, 1]),
        ({"at_most": -5}, [-5, -6], [0]),
        ({"at_least": -5}, [-5, -1, 0], [-6]),
        ({"type": "amount", "more_than": 50}, [50.01, 51], [0, 50, "51", True]),
        ({"type": "amount", "less_than": 50}, [0, 49.99], [50, -1, "5"]),
        ({"less_than": 0}, [-1], [0, 1]),
        ({"less_than": 5}, [0, 4.99], [-1, 5, "4", True]),
        ({"more_than": -5}, [-4.99, 0], [-5, True]),
        ({"at_least": -5, "at_most": 5}, [-5, 5], [-6]),
    ],
)  # fmt: skip
def test_a_test_of_a_type_compares_values_of_that_type_alone(test, fitting, others):
    assert [matches(test, value) for value in [*fitting, *others]] == [True] * len(fitting) + [False] * len(others)
    (condition,) = match_from({"input": [{"pointer": "/v", **test}]}).conditions
    assert condition.test.document() == test


@pytest.mark.parametrize(
    ("test", "value", "could"),
    [
        ({"type": "address", "like": "*@x.com"}, "a@x.com;b@y.com", True),
        ({"type": "address", "like": "*@x.com"}, "a@y.com", False),
        ({"type": "amount", "at_most": 5}, -5, True),
        ({"type": "amount", "at_most": 5}, 6, False),
        ({"at_most": 0}, -1, True),
        ({"at_most": 5}, 6, False),
        ({"less_than": 5}, -1, True),
        ({"less_than": 5}, 5, False),
        ({"more_than": 5}, "6", True),
        ({"more_than": 5}, 5, False),
        ({"at_least": -5}, -6, False),
        ({"at_most": 5}, -5, True),
        ({"like": "a*"}, 5, True),
        ({"like": "a*"}, "b", False),
        ({"starts_with": "a"}, 5, True),
        ({"starts_with": "a"}, "b", False),
        ({"members": ["a"]}, ["a"], True),
        ({"members": ["a"]}, {"b": 1}, False),
    ],
)
def test_a_value_of_another_type_could_match(test, value, could):
    [condition] = match_from({"input": [{"pointer": "/v", **test}]}).conditions
    assert (condition.test.fits(value), condition.test.could(value)) == (False, could)


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        ({"type": "mail"}, "must be one of address, addresses, amount, path, host, line, text"),
        ({"type": ["amount"]}, "must be one of address, addresses, amount, path, host, line, text"),
        (
            {"type": "address", "like": "*ours.com"},
            "is not a pattern for values of the type address; write it like *@example.com",
        ),
        (
            {"type": "addresses", "like": "ours.com"},
            "is not a pattern for values of the type addresses; write it like *@example.com",
        ),
        (
            {"type": "address", "like": "a b@ours.com"},
            "is not a pattern for values of the type address; write it like *@example.com",
        ),
        ({"type": "address", "like": "*@*"}, "is not a pattern for values of the type address; write it like *@example.com"),
        ({"type": "host", "like": "*ours.com"}, "is not a pattern for values of the type host; write it like *.example.com"),
        ({"type": "amount", "like": "5*"}, "is not a pattern for values of the type amount; write it like /data/*"),
        ({"type": "address", "equals": "a;b"}, "compares with a value that is not of the type address"),
        ({"type": "amount", "one_of": [1, "2"]}, "compares with a value that is not of the type amount"),
        ({"type": "amount", "at_most": -1}, "has a limit below zero, but no amount is negative"),
        ({"type": "amount", "more_than": -1}, "has a limit below zero, but no amount is negative"),
        ({"type": "text", "at_most": 1}, "has a range, which values of the type text do not support"),
        ({"type": "path", "starts_with": "/data"}, "must end with a slash: /data would also match /database"),
        ({"type": "host", "starts_with": "a"}, "has a prefix, which values of the type host do not support"),
        ({"members": []}, "is an empty list, which matches nothing; leave it out to match anything"),
        ({"members": [5]}, "must be text of at most 200 characters"),
        ({"members": ["a"], "type": "text"}, "has members, so it cannot have another test"),
    ],
)  # fmt: skip
def test_a_test_that_a_type_cannot_have_is_refused(test, fault):
    with pytest.raises(InvalidMatch) as refused:
        match_from({"input": [{"pointer": "/v", **test}]})
    assert [str(sentence) for sentence in refused.value.faults.values()] == [fault]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
addresses = st.sampled_from(
    ["evil@evil.com", "bob@ourcompany.com", "Bob <bob@ourcompany.com>", "bob", "@ourcompany.com"]
)
separators = st.sampled_from(BETWEEN) | st.characters()
hostile_texts = st.lists(addresses | separators, max_size=4).map("".join)
hostile = anything | hostile_texts | st.lists(hostile_texts | anything, max_size=3)


def documented(page: str, name: str) -> Policy:
    """Return the policy of a page in which a rule has this name."""
    text = (ROOT / "docs" / page).read_text()
    blocks = re.findall(r"^ *```json\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    [found] = [json.loads(textwrap.dedent(block)) for block in blocks if f'"name": "{name}"' in block]
    rules = [rule for rule in found["rules"] if rule["name"] == name]
    return policy_of(stored_form({"rules": rules}, Directory()))


def is_one_address(value: Any, domain: str) -> bool:
    """Naively: no character of an address list, a header or a display name, and one @ before this domain."""
    plain = (
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and not set(value) & set(' ,;<>"()[]:\\%') - {"%"}
    )
    return plain and value.count("@") == 1 and value.lower().endswith(f"@{domain}") and not value.startswith("@")


MAIL = documented("how-to/let-safe-calls-through.md", "Mail to colleagues")
REFUNDS = documented("reference/policy.md", "Small refunds")


@given(hostile, hostile, hostile)
def test_the_mail_rule_of_the_guide_lets_nothing_through_but_mail_to_colleagues(to, subject, text):
    then = evaluate(MAIL, facts({"to": to, "subject": subject, "text": text}, tool="sendEmail")).then
    if then == "allow":
        assert isinstance(to, list)
        assert to
        assert all(is_one_address(each, "ourcompany.com") for each in to)
        assert isinstance(subject, str)
        assert len(subject.splitlines()) <= 1
        assert isinstance(text, str)


def test_the_mail_rule_of_the_guide_lets_mail_to_colleagues_through():
    good = {"to": ["bob@ourcompany.com"], "subject": "Lunch?", "text": "At noon,\nas always."}
    assert evaluate(MAIL, facts(good, tool="sendEmail")).then == "allow"
    bad = [
        *({**good, "to": [f"evil@evil.com{between}bob@ourcompany.com"]} for between in BETWEEN),
        *({**good, "to": to} for to in ("bob@ourcompany.com", {}, [], [{}], ["bob@ourcompany.com", "x@evil.com"])),
        *({**good, "subject": f"Hi{between}evil@evil.com"} for between in ("\nBcc: ", "\r\nBcc: ", "\u2028Bcc: ")),
        good | {"bcc": ["x@evil.com"]},
    ]
    assert [value for value in bad if evaluate(MAIL, facts(value, tool="sendEmail")).then != "ask"] == []


@given(hostile)
def test_the_rule_for_small_refunds_lets_no_other_amount_through(amount):
    value = {"amount": amount, "currency": "EUR"}
    if evaluate(REFUNDS, facts(value)).then == "allow":
        assert isinstance(amount, int | float)
        assert not isinstance(amount, bool)
        assert 0 <= amount <= 50


@st.composite
def approved_calls(draw: Callable[..., Any]) -> list[dict[str, Any]]:
    """Thirty calls of one shape, as people might have approved them."""
    amounts = draw(st.lists(st.integers(-9, 99), min_size=30, max_size=30))
    currencies = draw(st.lists(st.sampled_from(["EUR", "USD"]), min_size=30, max_size=30))
    several = draw(st.booleans())
    return [
        {
            "amount": amount,
            "to": f"p{number if several else 0}@ours.com",
            "meta": {"currency": currency, "urgent": False},
            "cc": [f"q{number if several else 0}@ours.com"],
            "text": "Hello",
        }
        for number, (amount, currency) in enumerate(zip(amounts, currencies, strict=True))
    ]


def like(values: list[Any], value: Any) -> bool:
    """Return whether this very value is among others: `True` is not 1."""
    return json.dumps(value) in {json.dumps(each) for each in values}


@given(approved_calls(), st.data())
def test_a_suggested_rule_never_reaches_beyond_the_values_that_it_was_made_from(calls, data):
    decided = [DecidedCall(pk=uuid4(), value=call, good=True, by_id=1) for call in calls]
    rule, cases = rule_for("refund", decided)
    suggested = policy(rule)
    assert len(cases) == len(calls)
    assert {evaluate(suggested, facts(call)).then for call in calls} == {"allow"}
    place = data.draw(st.sampled_from(["amount", "to", "cc", "text", "currency", "urgent", "meta", "new"]))
    sent = json.loads(json.dumps(data.draw(st.sampled_from(calls))))
    other = data.draw(
        hostile | st.sampled_from(["p99@ours.com", "p99@evil.com", ["p99@ours.com"], -1e15, 1e15, "5", True])
    )
    (sent["meta"] if place in {"currency", "urgent"} else sent)[place] = other
    if evaluate(suggested, facts(sent)).then != "allow":
        return
    amounts = [call["amount"] for call in calls]
    several = calls[0]["to"] != calls[1]["to"]
    assert not isinstance(sent["amount"], bool)
    assert min(amounts) <= sent["amount"] <= max(amounts)
    for each, name in [(sent["to"], "p"), *((each, "q") for each in sent["cc"])]:
        assert is_one_address(each, "ours.com")
        assert several or each == f"{name}0@ours.com"
    assert isinstance(sent["cc"], list)
    assert sent["cc"]
    assert like([call["meta"] for call in calls], sent["meta"])
    assert isinstance(sent["text"], str)
    assert len(sent["text"].splitlines()) <= 1
    assert sent.keys() == calls[0].keys()
