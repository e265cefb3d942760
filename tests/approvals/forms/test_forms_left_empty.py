"""Empty fields of forms: the removed values, the missing ones, and the place of the messages."""

from __future__ import annotations

from approvals.forms.decision import sent_decision
from approvals.forms.rendering import RenderedField
from approvals.models import ApprovalRequest
from approvals.pages.card_forms import Answering
from approvals.shown.requests import shown_request
from approvals.states import Kind
from tests.approvals.forms.test_schema_forms import form, refused, sent


def test_emptying_a_field_removes_a_value_that_is_not_text():
    when = {"type": "string", "format": "date-time"}
    schema = {
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date"},
            "at": when,
            "mail": {"type": "string", "format": "email"},
            "until": {**when, "type": ["string", "null"]},
            "note": {"type": "string", "maxLength": 9},
            "begin": when,
        },
        "required": ["begin"],
    }
    moment = "2026-12-24T14:00:00Z"
    value = {"day": "2026-12-24", "at": moment, "mail": "a@b.example", "until": moment, "note": "x", "begin": moment}
    asked = form(Kind.APPROVAL, schema, input=value)
    kept = {"begin": "2026-12-24T14:00:00"}
    emptied = sent("edit", **(dict.fromkeys(value, "") | kept))
    assert sent_decision(asked, emptied).edited_input == {"until": None, "note": "", "begin": moment}
    assert refused(asked, sent("edit", **dict.fromkeys(value, ""))) == {"edited_input.begin": "is missing"}


def test_empty_optional_group_is_left_out_despite_required_fields():
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "address": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 9}, "zip": {"type": "string", "maxLength": 9}},
                "required": ["city"],
            },
            "more": {
                "type": "object",
                "properties": {"tags": {"type": "array", "items": {"enum": ["a", "b"]}}},
                "required": ["tags"],
            },
        },
        "required": ["name"],
    }
    fields = {each.key: each for each in shown(form(schema=schema)).walk()}
    musts = [key for key in fields if fields[key].browser_required and fields[key].kind != "group"]
    assert musts == ["answer.name"]
    assert sent_decision(form(schema=schema), sent(name="N", **{"address.city": "", "address.zip": ""})).answer == {
        "name": "N"
    }
    assert refused(form(schema=schema), sent(name="N", **{"address.zip": "1"})) == {"answer.address.city": "is missing"}
    assert sent_decision(form(schema=schema), sent(name="N", **{"more.tags": ["0"]})).answer == {
        "name": "N",
        "more": {"tags": ["a"]},
    }


def test_error_in_a_row_links_to_that_row():
    schema = {"type": "object", "properties": {"nums": {"type": "array", "items": {"type": "number"}, "title": "Sums"}}}
    asked, data = form(schema=schema), sent(nums=["1", "x"])
    card = Answering(request=shown_request(asked), may_close=True, errors=refused(asked, data), typed=data)
    rows = card.answer_form.children[0].rows
    assert card.error_list == [("Sums 2", "must be a number", rows[1].id)]


def shown(request: ApprovalRequest) -> RenderedField:
    """Return the fields of the form as a page shows them."""
    card = Answering(request=shown_request(request), may_close=True)
    found = card.edit_form if request.kind == Kind.APPROVAL else card.answer_form
    assert found is not None
    return found


def test_an_edit_adds_no_default_and_nothing_empty_that_was_not_proposed():
    schema = {
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "notify": {"type": "boolean", "default": True},
            "note": {"type": "string", "default": "hi", "maxLength": 9},
            "to": {"type": "object", "properties": {"city": {"type": "string", "default": "Rome", "maxLength": 9}}},
        },
    }
    asked = form(Kind.APPROVAL, schema, input={"amount": 20})
    fields = {each.name: each for each in shown(asked).walk()}
    assert {name: (field.value, field.chosen) for name, field in fields.items() if name != "input."} == {
        "input": ("", frozenset()),
        "input.amount": ("20", frozenset()),
        "input.notify": ("", frozenset()),
        "input.note": ("", frozenset()),
        "input.to": ("", frozenset()),
        "input.to.city": ("", frozenset()),
    }
    # An answer has them.
    assert shown(form(schema=schema)).children[2].value == "hi"


def test_an_edit_does_not_invent_what_is_missing():
    text = {"type": ["string", "null"], "maxLength": 9}
    schema = {
        "type": "object",
        "properties": {
            "amount": {"type": "number"},
            "list": {"type": "array", "items": {"type": "string", "maxLength": 9}},
            "some": {"type": "array", "items": {"enum": ["a", "b"]}},
            "group": {"type": "object", "properties": {"text": text}},
            "text": text,
        },
        "required": ["amount", "list", "some", "group", "text"],
    }
    missing = [f"edited_input.{name}" for name in ("group", "list", "some", "text")]
    edited = sent("edit", amount="21", text="", **{"group.text": ""})
    assert sorted(refused(form(Kind.APPROVAL, schema, input={"amount": 20}), edited)) == missing
    whole = {"amount": 20, "list": [], "some": [], "group": {}, "text": None}
    assert sent_decision(form(Kind.APPROVAL, schema, input=whole), edited).edited_input == whole | {"amount": 21}
