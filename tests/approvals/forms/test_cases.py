"""Fields that count in some cases only, and choices of shapes."""

from __future__ import annotations

import pytest

from approvals.forms.decision import sent_decision
from approvals.forms.fields import FormControl, Widget
from approvals.forms.from_schema import form_from_schema
from approvals.forms.reading import Reading
from approvals.forms.values import edit_form
from approvals.schema.check import MAX_STEPS, schema_problem
from tests.approvals.forms.test_schema_forms import form, refused, sent

PAYMENT = {
    "type": "object",
    "properties": {
        "method": {"enum": ["card", "bank"], "title": "Method"},
        "amount": {"type": "number", "title": "Amount"},
        "reason": {"type": "string", "title": "Reason"},
    },
    "required": ["method"],
    "allOf": [
        {
            "if": {"properties": {"method": {"const": "card"}}, "required": ["method"]},
            "then": {"properties": {"number": {"type": "string", "title": "Card number"}}, "required": ["number"]},
            "else": {"properties": {"number": {"type": "string", "title": "IBAN"}}, "required": ["number"]},
        },
        {
            "if": {"properties": {"amount": {"minimum": 1000}}, "required": ["amount"]},
            "then": {"properties": {"approver": {"type": "string"}}, "required": ["approver", "reason"]},
        },
    ],
    "dependentRequired": {"amount": ["reason"]},
}
PETS = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "oneOf": [
        {
            "title": "A cat",
            "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
            "required": ["lives"],
        },
        {"properties": {"kind": {"const": "dog"}, "tricks": {"type": "string"}}},
    ],
}


def merged(control: FormControl) -> list[FormControl]:
    return [child for child in control.children if child.merged]


def test_cases_have_words_and_a_test_for_scripts():
    card, bank, large = merged(form_from_schema(PAYMENT, "Answer"))
    is_card = [
        "all",
        [["any", [["not", ["filled", ".method"]], ["all", [["in", ".method", ["0"]]]]]], ["filled", ".method"]],
    ]
    assert (card.when.words, card.when.test) == ("if Method is “card”", is_card)
    assert (bank.when.words, bank.when.test) == ("if Method is not “card”", ["not", is_card])
    least = [
        "all",
        [["any", [["not", ["filled", ".amount"]], ["all", [["least", ".amount", 1000]]]]], ["filled", ".amount"]],
    ]
    assert (large.when.words, large.when.test) == ("", least)
    assert [(child.label, child.name("answer")) for case in (card, bank) for child in case.children] == [
        ("Card number", "answer.number~b4"),
        ("IBAN", "answer.number~b5"),
    ]


def test_a_field_that_a_case_needs_says_so():
    reason = form_from_schema(PAYMENT, "Answer").children[2]
    assert (reason.required, reason.limits) == (False, "needed if Amount is filled in")


def test_fields_of_the_case_that_applies_count_and_no_others():
    fields = {"method": "0", "number~b4": "4111", "number~b5": "DE02", "approver~b6": "Jane"}
    assert sent_decision(form(schema=PAYMENT), sent(**fields)).answer == {"method": "card", "number": "4111"}
    fields |= {"method": "1", "amount": "2000", "reason": "Late"}
    assert sent_decision(form(schema=PAYMENT), sent(**fields)).answer == {
        "method": "bank",
        "amount": 2000,
        "reason": "Late",
        "number": "DE02",
        "approver": "Jane",
    }


def test_what_is_missing_in_a_case_is_missing_and_what_is_missing_in_another_is_not():
    assert refused(form(schema=PAYMENT), sent(method="1", **{"number~b4": "4111"})) == {"answer.number": "is missing"}


@pytest.mark.parametrize(
    ("condition", "values", "applies"),
    [
        ({"properties": {"a": {"const": "x"}}}, {}, True),
        ({"properties": {"a": {"const": "x"}}, "required": ["a"]}, {}, False),
        ({"required": ["a"], "properties": {"a": {"pattern": "^x"}}}, {"a": "xy"}, True),
        ({"not": {"required": ["a"]}}, {"a": "x"}, False),
        ({"$ref": "#/$defs/is_x"}, {"a": "x"}, True),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}, {"a": "y"}, False),
    ],
)
def test_the_server_goes_by_the_condition_as_it_is_written(condition, values, applies):
    schema = {
        "$defs": {"x": {"const": "x"}, "is_x": {"properties": {"a": {"const": "x"}}, "required": ["a"]}},
        "properties": {"a": {"type": "string"}},
        "if": condition,
        "then": {"properties": {"b": {"type": "string"}}},
    }
    answer = sent_decision(form(schema=schema), sent(**values, **{"b~b1": "there"})).answer
    assert answer == values | ({"b": "there"} if applies else {})


def test_a_condition_that_scripts_cannot_test_leaves_its_fields_in_view():
    schema = {"properties": {"a": {"type": "string"}}, "if": {"properties": {"a": {"pattern": "^x"}}},
              "then": {"properties": {"b": {"type": "string"}}}}  # fmt: skip
    (case,) = merged(form_from_schema(schema, "Answer"))
    assert (case.when.test, case.when.words) == (None, "")


def test_a_choice_of_shapes_is_named_by_titles_or_by_the_value_that_tells_them_apart():
    (kind,) = merged(form_from_schema(PETS, "Answer"))
    assert (kind.widget, kind.label, [offer.label for offer in kind.offers]) == (
        Widget.SHAPES,
        "kind",
        ["A cat", "dog"],
    )


def test_the_chosen_shape_counts_with_the_value_that_tells_it_apart():
    fields = {"name": "Tom", "~b1": "0", "lives~b1~b0": "9", "tricks~b1~b1": "sit"}
    data = sent(**fields)
    data["answer~b1"] = data.pop("answer.~b1")[0]
    assert sent_decision(form(schema=PETS), data).answer == {"name": "Tom", "kind": "cat", "lives": 9}
    data["answer~b1"] = "7"
    assert refused(form(schema=PETS), data) == {"answer": "is not one of the options"}
    data["answer~b1"] = ""
    assert refused(form(schema=PETS), data)["answer"] == "is missing"


def test_values_of_different_types_are_a_choice_too():
    schema = {"type": "object", "properties": {"when": {"anyOf": [
        {"type": "string", "format": "date"}, {"type": "integer"}, {"type": "null"}]}}}  # fmt: skip
    (when,) = form_from_schema(schema, "Answer").children
    assert [offer.label for offer in when.offers] == ["Text", "Whole number"]
    fields = {"when~b0": "1", "when~b0~b0": "2026-01-01", "when~b0~b1": "7"}
    assert sent_decision(form(schema=schema), sent(**fields)).answer == {"when": 7}


def test_what_was_proposed_can_be_edited_whatever_case_it_belongs_to():
    value = {"method": "card", "number": "4111", "note": 1}
    control = edit_form(value, PAYMENT, "Input")
    plain = [child.path[-1] for child in control.children if not child.merged]
    assert plain == ["method", "amount", "reason", "number", "note"]
    assert [[child.path[-1] for child in case.children] for case in merged(control)] == [[], [], ["approver"]]


def test_a_schema_that_leads_into_itself_becomes_json():
    itself = {"properties": {"a": {"type": "string"}}, "if": {"required": ["a"]}, "then": {"$ref": "#"}}
    assert form_from_schema(itself, "Answer").widget == Widget.JSON
    shapes = {"properties": {"a": {}}, "oneOf": [{"properties": {"b": {}}, "oneOf": [{"$ref": "#"}, {"$ref": "#"}]}]}
    assert form_from_schema(shapes, "Answer").widget == Widget.JSON
    together = {"properties": {"a": {"type": "string"}}, "allOf": [{"$ref": "#"}]}
    assert form_from_schema(together, "Answer").widget == Widget.JSON


def test_ten_thousand_cases_are_refused_or_become_json():
    case = {"if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "string"}}}}
    many = {"properties": {"a": {"type": "string"}}, "allOf": [case] * 10_000}
    assert schema_problem(many) == "larger than 64,000 bytes"
    assert form_from_schema(many, "Answer").widget == Widget.JSON
    shapes = {"oneOf": [{"properties": {f"p{number}": {"type": "string"}}} for number in range(10_000)]}
    assert form_from_schema(shapes, "Answer").widget == Widget.JSON


def test_costly_conditions_share_one_budget():
    costly = {"properties": {"a": {"enum": [*range(400), "x"]}}, "required": ["a"]}
    many = {"allOf": [{"$ref": "#/$defs/c"}] * 12}
    schema = {"$defs": {"c": costly, "d": {"allOf": [many] * 12}}, "properties": {"a": {"type": "string"}}, "allOf": [
        {"if": {"not": {"$ref": "#/$defs/d"}}, "then": {"properties": {f"b{number}": {"type": "string"}}}}
        for number in range(30)]}  # fmt: skip
    assert schema_problem(schema) == ""
    control = form_from_schema(schema, "Answer")
    # With the whole budget it ends alike, a second later.
    reading = Reading(sent(a="x"), "answer", "answer", steps=[MAX_STEPS // 10])
    assert reading.read(control) == {"a": "x"}
    assert (len(merged(control)), reading.steps[0] < 0) == (30, True)
