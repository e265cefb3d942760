"""Dates, times, durations and amounts are formatted for people if the schema gives their type."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from approvals.forms.formatted import formatted, without_currency
from approvals.pages.key_fields import key_values
from approvals.templatetags.desk import shown_value
from approvals.text.tables import TableRow, rows

SCHEMA = {
    "$defs": {"Day": {"type": "string", "format": "date"}},
    "properties": {
        "day": {"$ref": "#/$defs/Day"},
        "at": {"format": "date-time"},
        "time": {"format": "time"},
        "long": {"format": "duration"},
        "fee": {"type": "number", "x-currency": "EUR"},
        "lines": {"items": {"properties": {"price": {"x-currency": "JPY"}}}},
        "total": {"format": "money", "properties": {"amount": {}, "currency": {}}},
    },
}


def shown(value, schema=SCHEMA) -> dict[str, str]:
    def leaves(table: list[TableRow], path: str = ""):
        for row in table:
            yield from leaves([*row.rows, *row.more], f"{path}{row.name}.") if row.rows else [(path + row.name, row)]

    return {name: row.shown or row.value for name, row in leaves(formatted(rows(value), value, schema))}


def in_data(value: str, words: str) -> str:
    return f'<data value="{value}" title="{value}">{words}</data>'


@pytest.fixture(autouse=True)
def berlin():
    with timezone.override(ZoneInfo("Europe/Berlin")), translation.override("en"):
        yield


def test_values_are_in_words_where_the_schema_says_what_they_are():
    value = {
        "day": "2026-12-24",
        "at": "2026-12-24T13:00:00Z",
        "time": "14:30:00Z",
        "long": "P1DT2H15M",
        "fee": 1234.5,
        "lines": [{"price": 1200, "note": "2026-12-24"}],
        "total": {"amount": "99.999", "currency": "CHF"},
        "other": "2026-12-24",
    }
    assert shown(value) == {
        "day": "Dec. 24, 2026",
        "at": "Dec 24, 2026, 14:00 (Europe/Berlin)",
        "time": "14:30 UTC",
        "long": "1 day 2 hours 15 minutes",
        "fee": "1,234.50 EUR",
        "lines.1.price": "1,200 JPY",
        "lines.1.note": "2026-12-24",
        "total.amount": "99.999 CHF",
        "other": "2026-12-24",
    }


def test_an_amount_follows_the_language_of_the_reader():
    with translation.override("de"):
        assert shown({"fee": 1234.5}) == {"fee": "1.234,50 EUR"}


def test_what_cannot_be_written_exactly_stays_as_it_is():
    value = {
        "day": "2026-02-30",
        "at": "2026-12-24T13:00:00.123456789Z",
        "time": "25 past",
        "long": "P1Y",
        "fee": "about 5",
        "total": {"amount": 5, "currency": "euros"},
    }
    flat = {**value, "total.amount": "5", "total.currency": "euros"}
    del flat["total"]
    assert shown(value) == flat
    assert shown({"fee": "007"}) == {"fee": "007"}
    assert shown({"fee": True}) == {"fee": "true"}
    assert shown({"fee": 1e300}) == {"fee": "1e+300"}


def test_the_exact_value_is_in_reach():
    value = {"at": "2026-12-24T13:00:00Z", "fee": 120}
    at, fee = map(shown_value, formatted(rows(value), value, SCHEMA))
    assert 'title="2026-12-24T13:00:00Z">Dec 24, 2026, 14:00 (Europe/Berlin)</time>' in at
    assert fee == '<data value="120" title="120">120.00 EUR</data>'


def test_a_schema_that_leads_into_itself_is_bounded():
    itself = {"properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}}
    value: object = "2026-12-24"
    for _number in range(30):
        value = {"a": [value]}
    assert list(shown(value, itself).values()) != []
    assert shown({"a": 1}, {"properties": {"a": {"$ref": "#/nowhere"}}}) == {"a": "1"}


def test_the_values_that_matter_are_in_words_too():
    value = {"fee": 120, "day": "2026-12-24", "note": "Now", "total": {"amount": 3, "currency": "CHF"}}
    fee, day = ("fee", in_data("120", "120.00 EUR")), ("day", in_data("2026-12-24", "Dec. 24, 2026"))
    assert key_values(value, (), "book", SCHEMA) == [fee, day, ("note", "Now")]
    assert key_values(value, (), "book") == [("fee", "120"), ("day", "2026-12-24"), ("note", "Now")]


def test_key_fields_are_in_words_wherever_they_are():
    value = {"lines": [{"price": 7}], "at": "2026-12-24T13:00:00Z", "total": {"amount": 3, "currency": "CHF"}}
    pointers = ["/at", "/lines/0/price", "/lines/0", "/total", "/total/amount", "/total/currency", ""]
    at, *others = key_values(value, pointers, "book", SCHEMA)
    assert at[1].endswith(">Dec 24, 2026, 14:00 (Europe/Berlin)</time>")
    assert others == [
        ("price", in_data("7", "7 JPY")),
        ("0", "price: 7"),
        ("total", in_data("3", "3.00 CHF")),
        ("amount", in_data("3", "3.00 CHF")),
        ("Input", "lines: price: 7, at: 2026-12-24T13:00:00Z, total: amount: 3, currency: CHF"),
    ]


def test_an_amount_is_alone_in_a_line_only_if_nothing_but_its_currency_is_beside_it():
    totals = {
        "amount: 3": {"amount": 3},
        "amount: 3, currency: a, b": {"amount": 3, "currency": ["a", "b"]},
        "amount: 3, currency: CHF, net: 2": {"amount": 3, "currency": "CHF", "net": 2},
    }
    for words, total in totals.items():
        assert key_values({"total": total}, ["/total"], "book", SCHEMA) == [("total", words)]


def test_numbers_have_separators_from_ten_thousand_unless_they_count_nothing():
    value = {
        "rows": 120413,
        "size": 9999,
        "share": -12345.678,
        "tiny": 1e-7,
        "yes": True,
        "text": "120413",
        "orderId": 104711,
        "customer_number": 10042,
        "zip": 20095,
        "startedAtEpoch": 1764392000,
        "inner": {"lines": 54321, "all": [10000, 20000]},
    }
    assert shown(value, None) == {
        "rows": "120,413",
        "size": "9999",
        "share": "-12,345.678",
        "tiny": "1e-07",
        "yes": "true",
        "text": "120413",
        "orderId": "104711",
        "customer_number": "10042",
        "zip": "20095",
        "startedAtEpoch": "1764392000",
        "inner.lines": "54,321",
        "inner.all": "10000, 20000",
    }
    with translation.override("de"):
        assert shown({"rows": 120413.5}, None) == {"rows": "120.413,5"}


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [
        (12400, "EUR", "12,400 EUR"),
        (40, "USD", "40 USD"),
        (38.9, "CHF", "38.90 CHF"),
        (1250.0, "EUR", "1,250.00 EUR"),
        (1250.0, "JPY", "1,250 JPY"),
        (1.5, "KWD", "1.500 KWD"),
        (0.125, "EUR", "0.125 EUR"),
        ("18900.00", "EUR", "18,900.00 EUR"),
        ("18900.0000", "EUR", "18,900.00 EUR"),
        # Neither of these is certainly money.
        ("12400", "EUR", "12400"),
        (40, "eur", "40"),
        (40, "XXX", "40"),
        (40, 978, "40"),
        (True, "EUR", "true"),
    ],
)
def test_an_amount_beside_a_currency_has_its_decimals_unless_it_may_be_in_cents(amount, currency, words):
    value = {"to": "Ann", "amount": amount, "currency": currency}
    assert shown(value, None)["amount"] == words
    assert shown({"total": value}, None)["total.amount"] == words


def test_the_key_values_say_the_currency_once():
    value = {"to": "Ann", "amount": 12400, "currency": "EUR", "reference": "R-1"}
    assert key_values(value, []) == [("to", "Ann"), ("amount", in_data("12400", "12,400 EUR")), ("reference", "R-1")]
    assert key_values(value | {"currency": "points"}, [])[1:] == [
        ("amount", in_data("12400", "12,400")),
        ("currency", "points"),
    ]


def test_a_currency_does_not_stand_again_below_its_amount():
    value = {"total": {"amount": 5, "currency": "EUR"}, "amount": "18900.00", "currency": "EUR"}
    table = formatted(rows(value), value, None)
    assert [row.name for row in without_currency(table)] == ["total", "amount"]
    assert [row.name for row in table[0].rows] == ["amount"]
    other = {"amount": 5, "currency": "points"}
    assert without_currency(formatted(rows(other), other, None)) == rows(other)
    fee = {"fee": 5, "currency": "EUR"}
    assert [row.name for row in without_currency(formatted(rows(fee), fee, SCHEMA))] == ["fee"]
    assert key_values(fee, (), "", SCHEMA) == [("fee", in_data("5", "5.00 EUR"))]
    # An amount in another currency says nothing of this one.
    assert key_values(fee | {"currency": "USD"}, (), "", SCHEMA)[1:] == [("currency", "USD")]
    # A text that looks like an amount is none.
    assert key_values({"note": "5 EUR</data>", "currency": "EUR"}, ())[1:] == [("currency", "EUR")]


def test_cells_of_tables_are_in_words_too_but_texts_in_csv_stay_as_they_are():
    lines = [{"price": 12000, "rows": 12000, "amount": 7, "currency": "EUR"}, {"rows": 1, "amount": 8}]
    schema = {"properties": {"lines": {"items": {"properties": {"price": {"x-currency": "JPY"}}}}}}
    value = {"lines": lines, "csv": "rows,b\n12000,1\n2,3"}
    table, text = formatted(rows(value), value, schema)
    assert [[cell.shown or cell.value for cell in line.cells] for line in table.rows] == [
        ["12,000 JPY", "12,000", "7 EUR", "EUR"],
        ["none", "1", "8", "none"],
    ]
    assert [[cell.shown for cell in line.cells] for line in text.rows] == [["", ""]] * 2
    broken = {"properties": {"lines": {"items": {"$ref": "#/nowhere"}}}}
    assert formatted(rows(value), value, broken)[0] == rows(value)[0]
