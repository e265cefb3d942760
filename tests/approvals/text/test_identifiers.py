"""Which values only tell calls of one kind apart, and which are the currencies of amounts."""

from __future__ import annotations

import pytest

from approvals.text.currencies import are_currencies, currency_code
from approvals.text.identifiers import is_identifier


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", 7),
        ("order_id", "o-17"),
        ("orderId", 4711),
        ("orderID", "4711"),
        ("uuid", "0b6bb2a4-2f0e-4f0e-9c3a-1b2c3d4e5f60"),
        ("invoice_number", "2026-118"),
        ("ticket-no", 3),
        ("external.reference", "A:1"),
    ],
)
def test_identifiers_by_name_and_look(name, value):
    assert is_identifier(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("amount", 7),
        ("to", "o-17"),
        ("customer_id", 7),
        ("accountId", "7"),
        ("userId", 7),
        ("card_number", "4111"),
        ("number", 7),
        ("paid", 7),
        ("valid", True),
        ("order_id", True),
        ("order_id", 1.5),
        ("order_id", None),
        ("order_id", ["o-1"]),
        ("order_id", "see the note"),
        ("order_id", "a@example.com"),
        ("order_id", "x" * 65),
        ("", 7),
    ],
)
def test_amounts_recipients_and_texts_are_no_identifiers(name, value):
    assert not is_identifier(name, value)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("currency", ["EUR", "euro"], True),
        ("priceCurrency", ["EUR"], True),
        ("ccy", ["X"], True),
        ("in", ["EUR", "USD"], True),
        ("in", ["EUR", "abroad"], False),
        ("currency", [978], False),
        ("scope", ["ALL"], False),
        ("in", [], False),
    ],
)
def test_currencies_by_name_or_by_their_codes(name, values, expected):
    assert are_currencies(name, values) is expected


def test_one_currency_has_one_spelling():
    assert [currency_code(text) for text in ("eur", " EUR", "Euro")] == ["EUR", "EUR", "Euro"]
