"""Forms from JSON Schemas: fields, the values they return, and errors."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.db.canonical_json import canonical
from approvals.exceptions import Invalid
from approvals.forms.decision import answer_form, sent_decision, wants_json
from approvals.forms.fields import FormControl, Widget
from approvals.forms.from_schema import form_from_schema
from approvals.forms.reading import Reading
from approvals.forms.values import edit_form
from approvals.models import ApprovalRequest, Decision
from approvals.schema.check import schema_errors, schema_problem
from approvals.states import Kind
from tests.support.desk.edit_forms import untouched
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 80, "title": "Full name", "description": "As in the passport"},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
        "class": {"enum": ["economy", "business"]},
        "refundable": {"type": "boolean"},
        "extras": {"type": "array", "items": {"enum": ["meal", "bag"]}},
        "stops": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 3},
        "contact": {"type": "object", "properties": {"phone": {"type": "string"}}, "required": ["phone"]},
        "agent": {"const": 7},
        "notes": {"type": "string"},
        "odd": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["name", "seats", "refundable", "agent"],
    "additionalProperties": False,
}


def form(kind: Kind = Kind.FORM, schema: dict[str, Any] = TRIP, **fields: Any) -> ApprovalRequest:
    assert schema_problem(schema) == ""
    return ApprovalRequest(**{"kind": kind, "response_schema": schema, "input": {}} | fields)


def sent(verdict: str = "respond", **values: str | list[str]) -> QueryDict:
    data = QueryDict(mutable=True)
    data["verdict"] = verdict
    for name, value in values.items():
        data.setlist(f"{'answer' if verdict == 'respond' else 'input'}{'.' if name else ''}{name}",
                     value if isinstance(value, list) else [value])  # fmt: skip
    return data


def refused(request: ApprovalRequest, data: QueryDict) -> dict[str, str]:
    with pytest.raises(Invalid) as refusal:
        sent_decision(request, data)
    return dict(refusal.value.errors)


def widgets(control: FormControl) -> dict[str, str]:
    return {".".join(leaf.path): str(leaf.widget) for leaf in control.leaves()}


def test_each_type_gets_a_fitting_field():
    assert widgets(form_from_schema(TRIP, "Answer")) == {
        "name": "line",
        "mail": "line",
        "day": "line",
        "at": "line",
        "seats": "number",
        "class": "choice",
        "refundable": "choice",
        "extras": "several",
        "stops": "list",
        "contact.phone": "line",
        "agent": "fixed",
        "notes": "lines",
        "odd": "json",
    }


def test_field_shows_its_limits():
    by_name = {leaf.path[-1]: leaf for leaf in form_from_schema(TRIP, "Answer").leaves()}
    told = {
        name: (by_name[name].label, by_name[name].help, by_name[name].limits) for name in ("name", "seats", "stops")
    }
    assert told == {
        "name": ("Full name", "As in the passport", "at most 80 characters"),
        "seats": ("seats", "", "from 1 to 9, a whole number"),
        "stops": ("stops", "", "at most 3 values, at least 2 characters"),
    }
    assert [by_name[name].input_type for name in ("name", "mail", "day", "at")] == [
        "text",
        "email",
        "date",
        "datetime-local",
    ]
    assert [by_name[name].required for name in ("name", "mail")] == [True, False]


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "object"}, {"type": "array"}]},
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}, "not": {"required": ["a"]}},
        {"type": "array", "items": {"type": "array"}},
        {"$ref": "#"},
        {},
    ],
)
def test_schema_that_fields_cannot_express_becomes_json(schema):
    request = form(schema=schema)
    assert (form_from_schema(schema, "Answer").widget, answer_form(request), wants_json(request)) == (
        Widget.JSON,
        None,
        True,
    )


def test_references_and_nullable_values_in_pydantic_style_are_understood():
    schema = {
        "$defs": {"Size": {"enum": ["S", "M"], "type": "string"}, "Who": {"properties": {"n": {"type": "integer"}}}},
        "properties": {
            "size": {"$ref": "#/$defs/Size"},
            "who": {"allOf": [{"$ref": "#/$defs/Who"}], "description": "Whose"},
            "often": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "orderId": {"title": "Orderid", "type": ["string", "null"]},
            "pick": {"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]},
        },
        "required": ["often"],
    }
    found = form_from_schema(schema, "Answer")
    assert widgets(found) == {
        "size": "choice",
        "who.n": "number",
        "often": "number",
        "orderId": "line",
        "pick": "choice",
    }
    assert [child.label for child in found.children] == ["size", "who", "often", "orderId", "pick"]
    assert [offer.label for offer in found.children[4].offers] == ["One", "2"]
    answer = sent_decision(form(schema=schema), sent(size="1", often="", orderId="")).answer
    assert answer == {"size": "M", "often": None}


def test_form_becomes_the_answer():
    data = sent(**{"name": "Jane", "mail": "j@example.org", "day": "2026-12-01", "at": "2026-12-01T09:30", "seats": " 2 ",
                   "class": "1", "refundable": "1", "extras": ["1", "0"], "stops": ["Rome", "", " "],
                   "contact.phone": "+43 1", "notes": "a\r\nb", "odd": '[{"x": 1}]'})  # fmt: skip
    answer = sent_decision(form(), data).answer
    assert answer == {
        "name": "Jane",
        "mail": "j@example.org",
        "day": "2026-12-01",
        "at": "2026-12-01T09:30:00Z",
        "seats": 2,
        "class": "business",
        "refundable": False,
        "extras": ["meal", "bag"],
        "stops": ["Rome"],
        "contact": {"phone": "+43 1"},
        "agent": 7,
        "notes": "a\nb",
        "odd": [{"x": 1}],
    }
    assert schema_errors(TRIP, answer) == {}


def test_empty_optional_fields_are_left_out_and_required_ones_are_errors():
    assert sent_decision(form(), sent(name="Jane", seats="1", refundable="0")).answer == {
        "name": "Jane",
        "seats": 1,
        "refundable": True,
        "agent": 7,
    }
    assert refused(form(), sent()) == {
        "answer.name": "is missing",
        "answer.seats": "is missing",
        "answer.refundable": "is missing",
    }


def test_all_errors_are_shown_together_by_field():
    data = sent(**{"mail": "nobody", "day": "tomorrow", "seats": "12", "class": "7", "stops": ["Rome", "x"],
                   "contact.phone": "", "refundable": "yes", "odd": "{"})  # fmt: skip
    errors = refused(form(), data)
    assert {name: words.partition(":")[0] for name, words in errors.items()} == {
        "answer.name": "is missing",
        "answer.mail": "must be an email address",
        "answer.day": "must be a date, such as 2026-12-24",
        "answer.seats": "must be at most 9",
        "answer.class": "is not one of the options",
        "answer.refundable": "is not one of the options",
        "answer.stops.1": "needs at least 2 characters",
        "answer.odd": "is not valid JSON",
    }


def test_single_value_gets_a_single_field():
    assert sent_decision(form(schema={"type": "integer"}), sent(**{"": "5"})).answer == 5
    assert refused(form(schema={"type": "integer"}), sent(**{"": "x"})) == {"answer": "must be a number"}
    question = form(Kind.QUESTION, {"type": "boolean"})
    assert sent_decision(question, sent(**{"": "1"})).answer is False
    assert answer_form(form(Kind.QUESTION, {"type": "string", "maxLength": 9})) is None


def test_names_with_dots_are_not_paths():
    schema = {
        "properties": {"a.b": {"type": "string"}, "a": {"properties": {"b": {"type": "string"}}}, "~1": {"const": 1}}
    }
    names = [leaf.name("answer") for leaf in form_from_schema(schema, "Answer").leaves()]
    assert names == ["answer.a~1b", "answer.a.b", "answer.~01"]


def test_input_is_edited_by_its_schema_and_other_values_are_kept():
    value = {
        "name": "Jane",
        "seats": "two",
        "day": "soon",
        "stops": ["a", ""],
        "more": {"x": 1},
        "class": "first",
        "refundable": True,
        "agent": 8,
    }
    found = widgets(edit_form(value, TRIP, "Input"))
    assert [found[name] for name in ("name", "seats", "day", "stops", "more.x", "class", "notes")] == [
        "line",
        "json",
        "json",
        "json",
        "number",
        "json",
        "lines",
    ]
    assert sent_decision(form(Kind.APPROVAL, input=value), untouched(value, TRIP)).edited_input == value


def test_form_with_too_many_fields_becomes_json():
    wide = {"properties": {str(number): {"$ref": "#/$defs/a"} for number in range(150)}}
    wide["$defs"] = {"a": {"properties": {str(number): {"type": "string"} for number in range(150)}}}
    assert (schema_problem(wide), form_from_schema(wide, "Answer").widget) == ("", Widget.JSON)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=6)
SCALAR = (
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT | st.sampled_from(["economy", "2026-12-01", "meal", "bag"])
)
VALUE = st.recursive(SCALAR, lambda b: st.lists(b, max_size=3) | st.dictionaries(TEXT, b, max_size=2), max_leaves=5)
NAMES = st.sampled_from([name for name in TRIP["properties"] if name != "agent"]) | TEXT
INPUTS = st.dictionaries(NAMES, VALUE, max_size=6)


@settings(max_examples=100, deadline=None)
@given(INPUTS)
def test_unchanged_form_returns_any_input_for_any_schema(value):
    reading = Reading(untouched(value, TRIP), "input", "edited_input", edits=True)
    found = reading.read(edit_form(value, TRIP, "Input"), value)
    missing = {f"edited_input.{name}" for name in ("name", "seats", "refundable") if name not in value}
    assert canonical(found) == canonical(value)
    assert set(reading.errors) - {"edited_input.contact.phone"} == missing


@pytest.mark.parametrize(
    ("schema", "labels"),
    [
        ({"type": "string", "enum": ["at", "de"], "enumNames": ["Austria", "Germany"]}, ["Austria", "Germany"]),
        ({"enum": [1, 2], "enumNames": ["One", " "]}, ["One", "2"]),
        ({"enum": ["at", "de"], "enumNames": ["Austria"]}, ["at", "de"]),
        ({"enum": ["at", "de"], "enumNames": [7, {"x": 1}]}, ["at", "de"]),
        ({"enum": ["at"], "enumNames": "Austria"}, ["at"]),
    ],
)
def test_an_enum_has_the_labels_of_its_enum_names(schema, labels):
    assert [offer.label for offer in form_from_schema(schema, "Country").offers] == labels
    several = form_from_schema({"type": "array", "items": schema}, "Countries")
    assert (several.widget, [offer.label for offer in several.offers]) == (Widget.SEVERAL, labels)
    assert [offer.value for offer in several.offers] == schema["enum"]


@pytest.mark.django_db
def test_all_options_of_a_large_form_can_be_chosen():
    values = [f"v{number}" for number in range(1_900)]
    schema = {
        "type": "object",
        "properties": {"all": {"type": "array", "items": {"enum": values}}},
        "required": ["all"],
    }
    request = make_request(alice(), Kind.FORM, response_schema=schema)
    client = browser(bob())
    card = client.get(request.get_absolute_url()).text
    sent = dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', card))
    chosen = [str(number) for number in range(len(values))]
    answered = client.post(f"/requests/{request.pk}/decide/", sent | {"verdict": "respond", "answer.all": chosen})
    assert (answered.status_code, Decision.objects.get().answer) == (302, {"all": values})
