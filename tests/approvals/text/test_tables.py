"""Values as tables: empty ones in words, lists of alike objects, and texts in CSV."""

from __future__ import annotations

import pytest

from approvals.templatetags.desk import shown_value
from approvals.text.tables import HeldPart, leave_out, open_places, rows, unseen_rows


def test_an_empty_value_is_said_in_words_that_look_unlike_a_text():
    shown = rows({"a": [], "b": {}, "c": "", "d": None, "e": " \n", "f": "empty list", "g": "\u200b"})
    assert [(row.value, row.empty) for row in shown] == [
        ("empty list", True),
        ("empty object", True),
        ("empty text", True),
        ("no value", True),
        ("2 blank characters", True),
        ("empty list", False),
        ("⟨U+200B⟩", False),
    ]
    assert [shown_value(shown[place]) for place in (0, 5)] == ['<i class="no-value">empty list</i>', "empty list"]


def table_of(value) -> tuple[list[str], list[list[str]]]:
    """The columns of a table, and what its cells show."""
    (row,) = rows({"value": value}, "input")
    return list(row.columns), [[cell.value for cell in line.cells] for line in [*row.rows, *row.more]]


def test_flat_objects_of_a_list_stand_in_one_table_each_in_view_as_a_row():
    lines = [{"sku": "A-1", "price": 4.9}, {"price": None, "sku": ""}, {"sku": "n" * 120}]
    assert table_of(lines) == (
        ["sku", "price"],
        [["A-1", "4.9"], ["empty text", "no value"], ["n" * 120, "none"]],
    )
    (row,) = rows({"lines": lines}, "input")
    assert [line.place for line in row.rows] == ["input.0.1", "input.0.2", "input.0.3"]


def test_a_cell_that_is_easily_misread_says_so_in_its_table():
    (row,) = rows({"lines": [{"to": "paypal"}, {"to": "p\u0430yp\u0430l"}]})
    assert [cell.note[:15] for line in row.rows for cell in line.cells] == ["", "mixes alphabets"]


@pytest.mark.parametrize(
    "lines",
    [
        [{"sku": "A-1"}],
        [{"sku": "A-1"}, "B-2"],
        [{"sku": "A-1"}, {}],
        [{"a": 1}, {"b": 1}, {"c": 1}],
        [{"sku": "x" * 201}, {"sku": "1"}],
        [{"sku": "two\nlines"}, {"sku": "1"}],
        [{"sku": ["1", "2"]}, {"sku": "1"}],
        # Notes at names, and secrets with their buttons, need rows.
        [{"p\u0430y": "1"}] * 2,
        [{"api_key": "sk-1"}] * 2,
        [dict.fromkeys(map(str, range(31)), 1)] * 2,
    ],
)
def test_objects_that_differ_are_long_or_nest_stand_one_below_another(lines):
    assert table_of(lines)[0] == []


def test_a_text_in_csv_is_a_table():
    assert table_of("sku,price\r\nA-1,4.90\r\nB-2,\r\n") == (["sku", "price"], [["A-1", "4.90"], ["B-2", ""]])
    quoted = 'sku;"price, net"\nA-1;"4;90"\n"B-2 ""x""";"two\nlines"'
    assert table_of(quoted) == (["sku", "price, net"], [["A-1", "4;90"], ['B-2 "x"', "two\nlines"]])
    assert table_of("a,b\n\u202e1,2\n3,4")[1][0] == ["⟨U+202E⟩1", "2"]


@pytest.mark.parametrize(
    "text",
    [
        "sku,price\nA-1,4.90",
        "sku,price\nA-1,4.90\nB-2",
        "sku,price\n\nA-1,4.90\nB-2,3",
        'sku,price\nA-1,"4,90\nB-2,3',
        'sku,price\nA-1,"4"90\nB-2,3',
        "sku,price\nA-1,4.90\rB-2,3\nC-3,1",
        "Hafenweg 12, Hamburg\nMain Street 1, London\nRue 2, Paris",
        "Dear Ada,\n\nall is well,\n\nBen",
        f"a,b\n{'x' * 201},2\n3,4",
        "one\ntwo\nthree",
    ],
)
def test_other_texts_and_those_that_a_table_would_change_stay_texts(text):
    assert table_of(text)[0] == []


def test_a_table_has_a_thousand_rows_and_thirty_columns_and_counts_the_rest():
    text = "\n".join(",".join(f"{line}.{column}" for column in range(32)) for line in range(1_251))
    (row,) = rows({"cells": text}, "input")
    assert (len(row.columns), row.is_wide, len(row.rows), len(row.more)) == (30, True, 41, 961)
    left = [(line.value, line.hidden) for line in [*row.rows, *row.more] if not line.cells]
    assert left == [("2 more columns, in the raw JSON", 2_500), ("250 more, in the raw JSON", 250)]
    assert {len(line.cells) for line in row.more[:-1]} == {30}


def test_the_tables_of_a_page_have_room_together():
    text = "a,b\n" + "1,2\n" * 1_000
    tables = rows({str(number): text for number in range(20)})
    cells = sum(len(line.cells) for table in tables for line in [*table.rows, *table.more])
    assert (cells, leave_out(tables), leave_out(tables[:1])) == (30_000, True, False)


def test_the_rows_of_a_table_that_were_not_in_view_are_unseen():
    tables = rows({"prices": "a,b\n" + "1,2\n" * 1_250}, "input")
    first = [f"input.0.{number}" for number in range(1, 41)]
    assert sum(part.values for part in unseen_rows(tables, {*open_places(tables)})) == 960 + 250
    assert sum(part.values for part in unseen_rows(tables, first[:-1])) == 961 + 250
    assert list(unseen_rows(tables, [f"input.0.{number}" for number in range(1, 1_001)])) == [
        HeldPart("raw", values=250)
    ]
