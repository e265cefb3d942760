"""The preview of a bulk decision: same values, differences and sums, per tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from approvals.models import ApprovalRequest
from approvals.pages.comparison import MAX_COLUMNS, RequestComparison, compare_inputs
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import Element, parse
from tests.support.people import alice, bob


def of(*inputs: dict[str, Any]) -> RequestComparison:
    requests = [ApprovalRequest(kind="approval", title=f"r{n}", input=value) for n, value in enumerate(inputs)]
    return compare_inputs("refund", requests)


def same(found: RequestComparison) -> dict[str, str]:
    return {row.name: row.value for row in found.same}


def cells(found: RequestComparison) -> dict[str, list[str | None]]:
    """Return the values of each column, in the order of the requests."""
    return {
        name: [line.cells[place].value if line.cells[place] else None for line in found.lines]
        for place, name in enumerate(found.columns)
    }


def sums(found: RequestComparison) -> dict[str, tuple[str, int]]:
    return {f"{one.name} {one.currency}".strip(): (one.total, one.count) for one in found.sums}


def test_differing_values_get_columns_and_same_values_are_shown_once():
    found = of(
        {"amount": 120, "shop": "Berlin", "to": {"name": "Ann"}},
        {"amount": 80, "shop": "Berlin", "to": {"name": "Ben"}},
    )
    assert cells(found) == {"amount": ["120", "80"], "to.name": ["Ann", "Ben"]}
    assert (same(found), sums(found)) == ({"shop": "Berlin"}, {"amount": ("200", 2)})


def test_a_currency_stands_with_its_amount_and_once_more_only_where_an_amount_does_not_show_it():
    found = of({"amount": 120, "currency": "EUR"}, {"amount": 80, "currency": "JPY"}, {"amount": 90, "currency": "EUR"})
    assert (found.columns, same(found)) == (["amount"], {})
    assert shown(found) == ["80 JPY", "120 EUR", "90 EUR"]
    assert found.lines[0].unusual == {0}
    mixed = of({"amount": 120, "currency": "EUR"}, {"amount": "some", "currency": "EUR"})
    assert (mixed.columns, same(mixed)) == (["amount"], {"currency": "EUR"})


EDIT = {"file_path": "shop/prices.py", "old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"}


def test_an_edit_is_shown_as_changed_lines():
    requests = [
        ApprovalRequest(kind="approval", title="r", tool_name="Edit", input=EDIT | {"replace_all": every})
        for every in (True, False)
    ]
    found = compare_inputs("Edit", requests)
    assert cells(found) == {"replace_all": ["true", "false"]}
    assert [line.edit.file for line in found.lines] == ["shop/prices.py"] * 2
    lines = [pair for hunk in found.lines[0].edit.diffs[0].shown for pair in hunk.pairs if pair.changed]
    assert [(pair.before, pair.after) for pair in lines] == [("b = 2", "b = 3")]


def test_an_edit_with_more_lines_than_a_page_shows_stays_text():
    whole = {"file_path": "a.py", "content": "line\n" * 2_000}
    requests = [ApprovalRequest(kind="approval", title="r", tool_name="Write", input=whole)]
    (line,) = compare_inputs("Write", requests).lines
    assert line.edit is None
    assert {"file_path", "content"} == {row.name for row in [*compare_inputs("Write", requests).same, *line.more]}


def test_values_with_lookalike_paths_do_not_hide_each_other():
    found = of(
        {"a.b": 5000, '"a': {'b"': 5}, "n\u200b": 1, "n\u27e8U+200B\u27e9": 2},
        {"a.b": 6000, '"a': {'b"': 5}, "n\u200b": 1, "n\u27e8U+200B\u27e9": 2},
    )
    assert cells(found) == {'"a.b"': ["5000", "6000"]}
    assert same(found) == {'"a.b" (2)': "5", "n\u27e8U+200B\u27e9": "1", "n\u27e8U+200B\u27e9 (2)": "2"}


def test_same_values_are_added_up_too():
    assert sums(of(*[{"amount": 250}] * 29)) == {"amount": ("7,250", 29)}


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([0.1, 0.2], "0.3"),
        (["250.00", "1000.50"], "1,250.50"),
        ([2**53, 1], "9,007,199,254,740,993"),
        ([1, -1.5], "-0.5"),
        ([f"{'9' * 30}.{'0' * 29}1", "0.5"], "999,999,999,999,999,999,999,999,999,999.500000000000000000000000000001"),
        ([True, False], None),
        (["4711", "4712"], None),
        ([1, "x"], None),
        ([[1], [2]], None),
    ],
)
def test_numbers_and_amounts_are_added_up_exactly(values, total):
    assert sums(of(*({"v": value} for value in values))) == ({"v": (total, 2)} if total else {})


def test_sums_never_add_currencies():
    assert sums(of(*({"amount": 10, "currency": code} for code in ("EUR", "JPY", "eur")))) == {
        "amount EUR": ("20", 2),
        "amount JPY": ("10", 1),
    }
    assert sums(of({"fee": 1, "in": "EUR"}, {"fee": 2, "in": "USD"})) == {"fee EUR": ("1", 1), "fee USD": ("2", 1)}
    assert sums(of({"fee": 1, "price": {"ccy": "EUR"}}, {"fee": 2})) == {"fee EUR": ("1", 1), "fee": ("2", 1)}


def test_sums_never_add_currencies_that_only_the_schemas_name():
    requests = [ApprovalRequest(kind="approval", title="r", input={"fee": fee}) for fee in (1, 2, 4)]
    schemas = {
        one.pk: {"properties": {"fee": {"x-currency": code}}}
        for one, code in zip(requests, ("EUR", "USD", "EUR"), strict=True)
    }
    assert sums(compare_inputs("refund", requests, schemas=schemas)) == {"fee EUR": ("5", 2), "fee USD": ("2", 1)}


def test_missing_values_are_shown_and_not_added():
    found = of({"fee": 5, "a": 1}, {"a": 2}, {"fee": 7, "a": 3})
    assert cells(found)["fee"] == ["5", None, "7"]
    assert sums(found)["fee"] == ("12", 2)


@pytest.mark.parametrize("values", [("5", 5), (True, "true"), (None, "null"), ("a", "a\u200b"), (1, 1.5)])
def test_different_values_never_look_alike(values):
    found = of(*({"v": value} for value in values))
    one, other = (line.cells[0] for line in found.lines)
    assert (one.value, one.note) != (other.value, other.note)


def test_nothing_that_differs_is_left_out():
    inputs = [{f"v{n:02}": n + shift for n in range(MAX_COLUMNS + 5)} for shift in (0, 100)]
    found = of(*inputs)
    assert len(found.columns) == MAX_COLUMNS
    assert [[(row.name, row.value) for row in line.more] for line in found.lines] == [
        [(f"v{n:02}", str(n + shift)) for n in range(MAX_COLUMNS, MAX_COLUMNS + 5)] for shift in (0, 100)
    ]


def test_more_values_than_a_page_shows_are_counted():
    found = of(*[{f"v{n}": n for n in range(600)}] * 2)
    assert (found.same[-1].value, len(found.same)) == ("100 more, on its own page", 501)


def test_the_values_of_a_single_request_stand_below_it():
    found = of({"a": {"b": 1}, "a.b": 2, "list": [1, 2]})
    below = {row.name: row.value for row in found.lines[0].more}
    assert (below, same(found), found.columns) == ({"a.b": "1", '"a.b"': "2", "list": "1, 2"}, {}, [])


def reviewed(requests: list[ApprovalRequest]) -> Element:
    picks = [f"{one.pk}:{one.input_digest}" for one in requests]
    return parse(browser(bob()).post("/requests/bulk/", {"pick": picks, "verdict": "approve"}).text)


@pytest.mark.django_db
def test_the_page_shows_the_amounts_of_29_refunds_and_their_sum_above_the_button():
    owner = alice()
    inputs = [{"amount": 100 + number, "orderId": str(number), "currency": "EUR"} for number in range(29)]
    page = reviewed([make_request(owner, tool_name="refund", input=value) for value in inputs])
    (tool,) = page.find("section", class_="bulk-tool")
    assert tool.find("h2")[0].words == "29 refund"
    assert tool.find("dl", class_="bulk-sums")[0].words == "Sum of amount in EUR 3,306 29 values, from 100 to 128"
    table = tool.find("table", class_="bulk-table")[0]
    assert [head.words for head in table.find("thead")[0].find("th")] == ["Request", "amount", "orderId"]
    assert {cell.words for cell in table.find("td")} >= {f"{100 + number} EUR" for number in range(29)}
    assert tool.find("table", class_="values") == []
    order = [one for one in page.all() if one is tool or (one.tag == "button" and one.words == "Approve 29 requests")]
    assert [one.tag for one in order] == ["section", "button"]


@pytest.mark.django_db
def test_folded_parts_are_mentioned_beside_the_button():
    owner = alice()
    page = reviewed([make_request(owner, tool_name="refund", input={"note": letter * 5_000}) for letter in "xy"])
    (note,) = page.find("p", class_="note")
    assert note.words == "Parts of these requests are folded: 1,998 characters."


@pytest.mark.django_db
def test_inputs_of_many_requests_take_one_query(django_assert_max_num_queries):
    owner, client = alice(), browser(bob())
    requests = [make_request(owner, tool_name="refund", input={"amount": number}) for number in range(50)]
    picks = [f"{one.pk}:{one.input_digest}" for one in requests]
    with django_assert_max_num_queries(7):
        assert client.post("/requests/bulk/", {"pick": picks, "verdict": "approve"}).status_code == 200


@pytest.mark.django_db
def test_mixed_alphabets_are_noted_in_columns_too():
    owner = alice()
    requests = [make_request(owner, tool_name="refund", input={"to": to}) for to in ("p\u0430ypal", "bank")]
    page = reviewed(requests)
    notes = [note.words for note in page.find("small", class_="misread")]
    assert len(notes) == 1
    assert notes[0].startswith("mixes alphabets: \u0430 (U+0430")


def test_texts_that_begin_alike_are_shown_as_texts():
    mails = ["Dear Ada,\n\n" + "word " * 1_000 + end for end in ("Yours", "Mine")]
    lines = of({"body": mails[0]}, {"body": mails[1]}).lines
    assert [[row.value for row in line.more] for line in lines] == [[mail] for mail in mails]


def test_long_values_stand_below_their_requests_in_full_width():
    found = of({"note": "x" * 81, "n": 1, "list": ["a"]}, {"note": "y", "n": 2, "list": ["b"]})
    assert (found.columns, [[row.name for row in line.more] for line in found.lines]) == (["n"], [["note", "list"]] * 2)


def test_contexts_and_messages_are_shown_once_where_they_are_the_same():
    requests = [
        ApprovalRequest(
            kind="approval",
            title="r",
            input={},
            message="As agreed.",
            context={"team": "support", "ticket": number},
        )
        for number in (1, 2)
    ]
    found = compare_inputs("refund", requests)
    assert (found.message.text, [(row.name, row.value) for row in found.same_context]) == (
        "As agreed.",
        [("team", "support")],
    )
    assert [[row.value for row in line.context] for line in found.lines] == [["1"], ["2"]]
    requests[0].message = "Not as agreed."
    found = compare_inputs("refund", requests)
    assert (found.message, [line.message.text for line in found.lines]) == (None, ["Not as agreed.", "As agreed."])


def test_values_that_read_alike_are_shown_as_json():
    lines = of({"amount": "1"}, {"amount": 1}).lines
    assert [line.cells[0].value for line in lines] == ['"1"', "1"]
    texts = ["a,b\n1,2\n3,4", 'a,b\n"1",2\n3,4', "a,b\n1,2\n3,5"]
    tables = [of({"prices": text}, {"prices": texts[-1]}).lines[0].more[0] for text in texts[:2]]
    assert [table.columns for table in tables] == [["a", "b"]] * 2
    alike = of({"prices": texts[0]}, {"prices": texts[1]}).lines
    assert [line.cells[0].value for line in alike] == [json.dumps(text) for text in texts[:2]]


def shown(found: RequestComparison) -> list[str]:
    """The first cell of each line, in words."""
    return [line.cells[0].shown or line.cells[0].value for line in found.lines]


def test_amounts_and_large_numbers_are_in_words_as_on_a_card():
    assert shown(of({"order": {"rows": 12000}}, {"order": {"rows": 5}})) == ["12,000", "5"]
    assert shown(of({"orderId": 104711}, {"orderId": 104712})) == ["104711", "104712"]
    money = [{"total": {"amount": amount, "currency": "EUR"}} for amount in (12000, "40.50")]
    assert shown(of(*money)) == ["12,000 EUR", "40.50 EUR"]
    # Equal numbers in two currencies are two amounts.
    assert shown(of(*({"amount": 5, "currency": code} for code in ("EUR", "USD")))) == ["5 EUR", "5 USD"]


def test_a_text_that_looks_like_an_amount_in_words_stays_different_from_it():
    found = of({"rows": 12000}, {"rows": "12,000"})
    assert shown(found) == ["12000", "12,000"]


def test_amounts_in_the_currency_of_their_schema_are_in_words():
    requests = [ApprovalRequest(kind="approval", title="r", input={"fee": fee}) for fee in (1200, 4)]
    schemas = {one.pk: {"properties": {"fee": {"x-currency": "EUR"}}} for one in requests}
    assert shown(compare_inputs("refund", requests, schemas=schemas)) == ["1,200.00 EUR", "4.00 EUR"]
