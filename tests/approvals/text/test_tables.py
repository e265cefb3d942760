"""Values as tables: empty ones in words, lists of alike objects, and texts in CSV."""

from __future__ import annotations

from approvals.templatetags.desk import shown_value
from approvals.text.tables import rows


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


def test_objects_of_a_list_that_are_alike_short_and_flat_stand_in_one_table():
    lines = [{"sku": "A-1", "price": "4.90"}, {"sku": "B-2", "price": None}]
    (row,) = rows({"lines": lines}, "input")
    assert (row.columns, [[cell.place for cell in line.rows] for line in row.rows]) == (
        ["sku", "price"],
        [["input.0.1.0", "input.0.1.1"], ["input.0.2.0", "input.0.2.1"]],
    )
    others = [
        lines[:1],
        [lines[0], {"price": "4.90", "sku": "B-2"}],
        [lines[0], {"sku": "B-2"}],
        [lines[0], {"sku": "x" * 81, "price": "1"}],
        [lines[0], {"sku": "B-2", "price": ["1", "2"]}],
        # The note at a letter that is easily misread needs room.
        [lines[0], {"sku": "B-2", "price": "p\u0430yp\u0430l"}],
        [dict.fromkeys("abcdefg", "1")] * 2,
    ]
    assert [rows({"lines": each})[0].columns for each in others] == [()] * len(others)


def test_a_text_in_csv_is_a_table_that_loses_nothing_of_it():
    text = "sku,price\nA-1,4.90\nB-2,\n"
    (row,) = rows({"prices": text})
    assert (row.lines, row.value) == ([["sku", "price"], ["A-1", "4.90"], ["B-2", ""]], text)
    others = [
        "sku,price\nA-1,4.90",
        "sku,price\nA-1,4.90\nB-2",
        'sku,price\nA-1,"4,90"\nB-2,3',
        "Hafenweg 12, Hamburg\nMain Street 1, London\nRue 2, Paris",
        "a,b\n\u202e1,2\n3, 4",
        "a,b,c,d,e,f,g\n" * 3,
        "one\ntwo\nthree",
    ]
    assert [rows({"text": other})[0].lines for other in others] == [()] * len(others)
