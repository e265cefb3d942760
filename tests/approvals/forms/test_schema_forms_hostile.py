"""Any schema and any submitted form give an answer or a refusal."""

from __future__ import annotations

from django.http import QueryDict
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.exceptions import Invalid
from approvals.forms.decision import sent_decision
from approvals.schema.check import schema_problem
from tests.approvals.forms.test_schema_forms import form

SCHEMAS = st.recursive(
    st.sampled_from([
        {}, True, {"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"enum": [1, None]}, {"const": "a"},
        {"type": "string", "format": "date"}, {"type": "null"}, {"$ref": "#"}, {"$ref": "#/properties/a"},
        {"type": ["string", "null"]}, {"type": "array"}, {"type": "array", "items": False}, {"enum": [{}, []]},
    ]),
    lambda b: st.one_of(
        st.builds(lambda one, two: {"type": "object", "properties": {"a": one, "b.c": two}, "required": ["a"]}, b, b),
        st.builds(lambda one: {"type": "array", "items": one}, b),
        st.builds(lambda one: {"anyOf": [one, {"type": "null"}]}, b),
        st.builds(lambda one: {"allOf": [one]}, b),
        st.builds(lambda one, two: {"properties": {"a": {}}, "if": one, "then": two, "else": {"$ref": "#"}}, b, b),
        st.builds(lambda one, two: {"oneOf": [one, two, {"properties": {"a": one}, "required": ["a"]}]}, b, b),
        st.builds(lambda one, two: {"properties": {"a": one}, "allOf": [{"if": two, "then": one}, one]}, b, b),
        st.builds(lambda one: {"dependentSchemas": {"a": one}, "dependentRequired": {"a": ["b.c"]}}, b),
    ),
    max_leaves=5,
)  # fmt: skip
FIELDS = st.dictionaries(
    st.sampled_from(
        ["answer", "answer.a", "answer.b~1c", "answer.a.a", "answer~b1", "answer.a~b0", "answer.a~b1~b0", "text"]
    ),
    st.lists(st.sampled_from(["", "0", "1", "x", "[]", "{", "null", "\r\n", "1e999", "2026-01-01"]), max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(SCHEMAS, FIELDS)
def test_schemas_and_forms_raise_only_invalid(schema, fields):
    whole = {"type": "object", "properties": {"a": schema, "b.c": {"type": "string"}}}
    if schema_problem(whole):
        return
    data = QueryDict("verdict=respond", mutable=True)
    for name, values in fields.items():
        data.setlist(name, values)
    try:
        sent_decision(form(schema=whole), data)
    except Invalid as refusal:
        assert refusal.errors != {}
