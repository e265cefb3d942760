"""A changed row of a list of objects keeps its unchanged values exactly."""

from __future__ import annotations

from typing import Any

from approvals.forms.decision import sent_decision
from approvals.states import Kind
from tests.approvals.forms.test_schema_forms import form, sent

ROW = {
    "type": "object",
    "properties": {
        "at": {"type": "string", "format": "date-time"},
        "note": {"type": "string"},
        "quantity": {"type": "integer"},
    },
}
SCHEMA = {"type": "object", "properties": {"items": {"type": "array", "items": ROW}}}


def edited(before: list[dict[str, Any]], **columns: list[str]) -> str:
    """The items after an edit with these fields; as text, because equal objects may have another order."""
    request = form(Kind.APPROVAL, schema=SCHEMA, input={"items": before})
    data = sent("edit", **{f"items.{name}": texts for name, texts in columns.items()})
    return repr(sent_decision(request, data).edited_input["items"])


def test_cells_beside_a_changed_one_keep_their_value_and_order():
    before = {"quantity": 1, "note": "one\r\ntwo", "at": "2026-11-24T10:00Z"}
    after = {"quantity": 2, "note": "one\r\ntwo", "at": "2026-11-24T10:00Z"}
    assert edited([before], at=["2026-11-24T10:00"], note=["one\r\ntwo"], quantity=["2"]) == repr([after])


def test_rows_that_differ_in_line_breaks_only_stay_two():
    rows = [{"note": "one\r\ntwo"}, {"note": "one\ntwo"}]
    assert edited(rows, at=["", ""], note=["one\r\ntwo"] * 2, quantity=["", ""]) == repr(rows)
    after = [{"note": "new"}, *rows]
    assert edited(rows, at=[""] * 3, note=["new", *["one\r\ntwo"] * 2], quantity=[""] * 3) == repr(after)


def test_a_cleared_cell_is_left_out():
    assert edited([{"quantity": 1, "note": "x"}], at=[""], note=["x"], quantity=[""]) == repr([{"note": "x"}])
