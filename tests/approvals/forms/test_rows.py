"""Lists of objects as rows of fields."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.forms.decision import sent_decision
from approvals.forms.fields import Widget
from approvals.forms.from_schema import form_from_schema
from approvals.forms.values import edit_form
from approvals.states import Kind
from tests.approvals.forms.test_schema_forms import form, refused, sent
from tests.support.desk.edit_forms import untouched

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"const": "item"},
                    "sku": {"type": "string", "maxLength": 12},
                    "quantity": {"type": "integer"},
                    "wrapping": {"enum": ["none", "gift"]},
                },
                "required": ["kind", "sku"],
            },
        }
    },
    "required": ["items"],
}


def rows(**columns: list[str]) -> dict[str, list[str]]:
    return {f"items.{name}": texts for name, texts in columns.items()}


def test_each_row_is_an_object_and_empty_rows_are_none():
    data = sent(**rows(sku=["A", "", "B"], quantity=["1", " ", ""], wrapping=["1", "", ""]))
    assert sent_decision(form(schema=ORDER), data).answer == {
        "items": [{"kind": "item", "sku": "A", "quantity": 1, "wrapping": "gift"}, {"kind": "item", "sku": "B"}]
    }


def test_errors_name_the_row_and_the_field():
    data = sent(**rows(sku=["A", ""], quantity=["one", "2"], wrapping=["7", ""]))
    assert refused(form(schema=ORDER), data) == {
        "answer.items.0.quantity": "must be a number",
        "answer.items.0.wrapping": "is not one of the options",
        "answer.items.1.sku": "is missing",
    }


def test_an_edit_without_the_fields_of_a_list_does_not_empty_it():
    request = form(Kind.APPROVAL, schema=ORDER, input={"items": [{"kind": "item", "sku": "A"}]})
    assert refused(request, sent("edit")) == {"edited_input.items": "was not sent completely; reload the page"}


def test_columns_of_different_lengths_are_refused():
    data = sent(**rows(sku=["A", "B"], quantity=["1"], wrapping=["", ""]))
    assert refused(form(schema=ORDER), data) == {"answer.items": "was not sent completely; reload the page"}


@pytest.mark.parametrize(
    ("items", "widget"),
    [
        ([{"sku": "A", "price": 1.5}, {"sku": "B"}], "rows"),
        ([{"sku": "A\nB", "gift": True}], "rows"),
        ([], "list"),
        (["A", "B"], "list"),
        (["A", ""], "json"),
        (["A", "two\nlines"], "json"),
        ([{"sku": "A"}, "B"], "json"),
        ([{"sku": {"a": 1}}], "json"),
        ([{"sku": None}], "json"),
        ([{"sku": "A"}, {"sku": 2}], "json"),
        ([{"sku": "A"}, {}], "json"),
        ([{"sku": ""}], "json"),
    ],
)
def test_a_list_without_a_schema_has_rows_if_they_can_hold_it(items, widget):
    (control,) = edit_form({"items": items}, None, "Input").children
    assert control.widget == widget
    request = form(Kind.APPROVAL, schema={}, input={"items": items})
    assert sent_decision(request, untouched({"items": items}, {})).edited_input == {"items": items}


def test_a_list_with_more_than_two_hundred_cells_is_json():
    items = [{"sku": "A", "count": 1}] * 101
    assert edit_form({"items": items}, None, "Input").children[0].widget == Widget.JSON


@pytest.mark.parametrize(
    "items",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{}]},
    ],
)
def test_objects_that_need_more_than_one_field_each_are_json(items):
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": items}}}
    (control,) = form_from_schema(schema, "Answer").children
    assert control.widget == Widget.JSON
