"""The key fields of an input: chosen by JSON pointers, else the first simple values; also of a beginning of JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from approvals.pages.key_fields import MAX_VALUE, key_values, read_beginning

REFUND = {
    "note": "n" * 500,
    "amount": 120,
    "order": {"id": "47/11", "lines": [{"sku": "a~b"}]},
    "urgent": True,
    "to": None,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def chosen(*pointers: str) -> list[tuple[str, str]]:
    return key_values(REFUND, pointers)


def test_an_administrator_chooses_the_fields_and_their_order():
    assert chosen("/order/lines/0/sku", "/amount", "/absent", "/order/lines/9") == [("sku", "a~b"), ("amount", "120")]
    assert chosen("/to", "/order/lines") == [("to", "null"), ("lines", "sku: a~b")]


def test_without_a_choice_or_a_chosen_field_the_first_short_values_are_shown():
    plain = [("amount", "120"), ("urgent", "true"), ("order.id", "47/11")]
    assert [key_values(REFUND, ()), chosen(), chosen("/absent"), chosen("amount")] == [plain] * 4
    assert key_values({"a": "x" * 200}, ()) == [("a", "x" * MAX_VALUE + "…")]
    assert key_values({"rows": [1, 2]}, ()) == [("rows", "1, 2")]
    assert [key_values(value, ()) for value in ({}, "", "words\nof\u202e mine")] == [
        [],
        [],
        [("", "words of⟨U+202E⟩ mine")],
    ]


def test_a_command_or_an_address_is_shown_instead_of_what_the_agent_says_about_it():
    command = {"description": "Show the status", "command": f"rm -rf /srv {'x' * 100}"}
    assert key_values(command, (), "Bash") == [("command", f"rm -rf /srv {'x' * 68}…")]
    fetch = {"prompt": "Read it", "url": "https://example.com"}
    assert key_values(fetch, (), "WebFetch") == [("url", "https://example.com")]
    assert key_values(command, (), "refund") == [("description", "Show the status")]
    assert key_values(command, ["/description"], "Bash") == [("description", "Show the status")]


@given(VALUES, st.integers(0, 200))
def test_any_beginning_of_json_can_be_read(value, length):
    text = json.dumps(value, ensure_ascii=False)
    found = read_beginning(text[:length])
    assert length < len(text) or text == "" or found == value
    key_values(found, ())


def test_a_beginning_keeps_what_is_complete_and_true():
    text = json.dumps(REFUND, ensure_ascii=False)
    assert read_beginning(text[: text.index('"lines"')]) == {"note": "n" * 500, "amount": 120, "order": {"id": "47/11"}}
    assert key_values(read_beginning(text[:-3]), ["/order/lines/0/sku"]) == [("sku", "a~b")]
    assert read_beginning("[" * 100_000) == {}


def test_nested_values_are_no_json():
    details = {"transactionDetails": {"amount": 1000, "currency": "EUR", "to": "Ann"}, "approver": "bob"}
    money = '<data value="1000" title="1000">1,000 EUR</data>'
    assert key_values(details, ()) == [
        ("approver", "bob"),
        ("transactionDetails.amount", money),
        ("transactionDetails.to", "Ann"),
    ]
    assert key_values({"total": {"amount": 1000, "currency": "EUR"}}, ()) == [("total", money)]
    assert key_values({"to": ["a@b.example", "c@d.example"], "cc": [], "subject": "Hi"}, ()) == [
        ("to", "a@b.example, c@d.example"),
        ("subject", "Hi"),
    ]
    assert key_values({"lines": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}]}, ()) == [
        ("lines", "sku: A, n: 1, sku: B, n: 2")
    ]
    assert key_values({"lines": [{"sku": "A"}], "to": {"name": "Ann"}}, ()) == [("to.name", "Ann")]
    assert key_values({"order": {"id": 7, "to": None}}, ["/order"]) == [("order", "id: 7, to: null")]
