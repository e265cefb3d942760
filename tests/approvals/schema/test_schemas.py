"""JSON Schemas of clients: which are accepted, and that every check ends soon."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from approvals.forms.from_schema import form_from_schema
from approvals.schema import check, validator
from approvals.schema.check import schema_errors, schema_problem

TOO_COSTLY = {"": "takes too long to check against the request's schema; send a smaller value"}
#: Seconds of CPU time. Measured: below 0.4.
SECONDS = 10


def doubling(levels: int) -> dict:
    """A small schema that is evaluated 2 ** levels times."""
    names = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$defs": names | {f"d{levels}": {"type": "string"}}, "$ref": "#/$defs/d0"}


NUMBERS, OBJECTS = [1] * 100_000, [{"a": n} for n in range(20_000)]
NAMES = {f"k{n}": 1 for n in range(20_000)}
LEAF: dict = {"$ref": "#/$defs/a"}
TREE = {
    "$defs": {"a": {"oneOf": [{"type": "integer"}, {"type": "object", "properties": {"x": LEAF, "y": LEAF}}]}},
    "$ref": "#/$defs/a",
}


def tree(levels: int) -> object:
    return {"x": tree(levels - 1), "y": tree(levels - 1)} if levels else "no integer"


def nested(levels: int) -> dict:
    return {"oneOf": [nested(levels - 1)] * 2} if levels else {"type": "string"}


COSTLY = {
    "a definition that refers to itself twice": (TREE, tree(12)),
    "choices in choices, for each item": ({"items": nested(8)}, ["x" * 200] * 1000),
    "a reference that doubles": (doubling(40), "x"),
    "a pattern with many states, a long text": ({"pattern": "[ab]*a[ab]{900}[cd]"}, "ab" * 120_000),
    "many looks at a long list": ({"allOf": [{"items": {}}] * 600}, NUMBERS),
    "many searches in a long list": ({"allOf": [{"contains": {"not": {}}}] * 600}, NUMBERS),
    "many comparisons of a long list": ({"allOf": [{"uniqueItems": True}] * 900}, OBJECTS),
    "many messages about a long text": ({"anyOf": [{"type": "string"}] * 900}, {"a": "x" * 240_000}),
    "many patterns for many names": ({"patternProperties": {f"^{n}a": {} for n in range(1900)}}, NAMES),
    "a long list of values, many times": ({"items": {"enum": [f"v{n}" for n in range(1900)]}}, ["v1899"] * 20_000),
    "a reference for each item": ({"$defs": {"a": {"type": "integer"}}, "items": {"$ref": "#/$defs/a"}}, NUMBERS),
}  # fmt: skip


DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")


@pytest.mark.parametrize("name", COSTLY)
def test_a_check_that_takes_too_long_is_given_up(name):
    schema, value = COSTLY[name]
    assert schema_problem(schema) == ""
    began = time.thread_time()
    assert schema_errors(schema, value) == TOO_COSTLY
    assert time.thread_time() - began < SECONDS


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(.*a){20}$", "(x+x+)+y", "^([a-z]+)*$"])
def test_a_catastrophic_pattern_is_cheap(pattern):
    began = time.thread_time()
    for schema, value in (
        ({"pattern": pattern}, "a" * 50_000 + "!"),
        ({"patternProperties": {pattern: {}}, "additionalProperties": False}, {"a" * 50_000 + "!": 1}),
        ({"propertyNames": {"pattern": pattern}}, {"a" * 50_000 + "!": 1}),
        *(
            ({"properties": {"x": {"$schema": dialect, "pattern": pattern}}}, {"x": "a" * 50_000 + "!"})
            for dialect in DIALECTS
        ),
    ):
        assert schema_problem(schema) == ""
        assert schema_errors(schema, value) != {}
    assert time.thread_time() - began < SECONDS


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "is not a JSON object"),
        ({"type": 5}, "is not a JSON Schema"),
        ({"not": {"pattern": "b(?=a)"}}, "look-around in this place"),
        ({"oneOf": [{"pattern": "b(?=a)"}, {"type": "number"}]}, "look-around in this place"),
        ({"pattern": r"(?=a)(b)\1"}, "back-references"),
        ({"pattern": "(?=a"}, "cannot be used"),
        ({"pattern": r"(a)\1"}, "back-references"),
        ({"pattern": "("}, "cannot be used"),
        ({"pattern": "(a{900}){900}"}, "very large repetitions"),
        ({"properties": {"a": {"patternProperties": {"(?!x)": {}}}}}, "look-around"),
        ({"$ref": "https://example.org/schema"}, "only references within the schema"),
        ({"$ref": "#name"}, "only references within the schema"),
        ({"$id": "https://example.org/"}, "not supported"),
        ({"unevaluatedProperties": False}, "not supported"),
        ({"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": {}}, "not supported"),
        ({"items": {"unevaluatedItems": {"type": "string"}}}, "not supported"),
        ({"enum": list(range(3000))}, "more than 2,000 values"),
        ({"description": "x" * 64_000}, "larger than 64,000 bytes"),
    ],
)
def test_an_invalid_schema_is_refused_with_a_reason(schema, words):
    assert words in schema_problem(schema)


def test_a_property_may_have_the_name_of_a_keyword_that_is_not_supported():
    schema = {"properties": {"$id": {"type": "string"}, "unevaluatedProperties": {"type": "integer"}}}
    assert (schema_problem(schema), schema_errors(schema, {"$id": "a", "unevaluatedProperties": 1})) == ("", {})
    assert sorted(schema_errors(schema, {"$id": 1, "unevaluatedProperties": "a"})) == ["$id", "unevaluatedProperties"]


def test_a_keyword_that_is_not_supported_is_not_ignored_in_a_stray_value():
    schema = {"enum": [{"unevaluatedProperties": {}}], "properties": {"x": {"$ref": "#/enum/0"}}}
    assert "cannot be checked" in schema_errors(schema, {"x": {"a": 1}})[""]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_schema_that_names_its_dialect_is_checked_alike_at_every_level(dialect):
    schema = {
        "$schema": dialect,
        "properties": {
            "kids": {"items": {"$ref": "#"}},
            "day": {"format": "date"},
            "name": {"pattern": r"^\p{L}+$"},
        },
    }
    assert schema_problem(schema) == ""
    for good, bad in (({"day": "2026-11-23"}, {"day": "nope"}), ({"name": "Äbc"}, {"name": "1"})):
        assert schema_errors(schema, {"kids": [{"kids": [good]}]}) == {}
        assert list(schema_errors(schema, {"kids": [{"kids": [bad]}]})) == [f"kids.0.kids.0.{next(iter(bad))}"]


@pytest.mark.parametrize(
    ("step", "good", "bad"),
    [(0.01, 19.99, 19.995), (0.01, 4.35, 4.351), (0.1, 0.3, 0.35), (0.01, 1e21, 1e-21), (5, 15, 16), (2.5, 5, 6)],
)
def test_a_multiple_is_one_of_the_decimal_number(step, good, bad):
    schema = {"multipleOf": step}
    assert (schema_errors(schema, good), schema_errors(schema, True), schema_errors(schema, "a")) == ({}, {}, {})
    assert schema_errors(schema, bad, plain=True) == {"": f"must be a multiple of {step}"}


def test_a_schema_that_is_nested_too_deeply_is_refused():
    schema: dict = {}
    for _ in range(5000):
        schema = {"not": schema}
    assert schema_problem(schema) == "nested too deeply"


def test_a_reference_to_a_stray_value_cannot_smuggle_a_pattern():
    schema = {"default": {"pattern": r"(a)\1"}, "$ref": "#/default"}
    assert "back-references" in schema_problem(schema)
    assert "cannot be checked" in schema_errors(schema, "a")[""]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/enum/0", "enum": ["abc"]}, "refers to '#/enum/0', which is not a JSON Schema"),
        ({"$ref": "#/enum/0", "enum": [{"type": 5}]}, "refers to '#/enum/0', which is not a JSON Schema"),
        ({"$ref": "#/required", "required": ["a"]}, "refers to '#/required', which is not a JSON Schema"),
        ({"$ref": "#/$defs/a"}, "refers to '#/$defs/a', which it does not contain"),
        ({"items": {"$ref": "#/prefixItems/1"}, "prefixItems": [{}]}, "which it does not contain"),
        ({"default": {"not": {"$ref": "#/required"}}, "$ref": "#/default", "required": []}, "is not a JSON Schema"),
    ],
)
def test_a_reference_must_lead_to_a_schema(schema, words):
    assert words in schema_problem(schema)


def test_a_reference_may_lead_to_a_schema_anywhere():
    for schema in (
        {"$defs": {"a b/c": {"type": "string"}}, "$ref": "#/$defs/a%20b~1c"},
        {"enum": ["a", {"type": "string"}], "$ref": "#/enum/1"},
        {"components": {"a": {"type": "string"}}, "$ref": "#/components/a"},
        {"allOf": [True, {"type": "string"}], "$ref": "#/allOf/1"},
    ):
        assert (schema_problem(schema), schema_errors(schema, "a")) == ("", {})
        assert schema_errors(schema, 1) != {}


def test_an_answer_that_cannot_be_checked_is_refused_and_logged(caplog):
    for schema in ({"$ref": "#/enum/0", "enum": ["abc"]}, {"$ref": "#/required", "required": ["a"]}):
        assert "cannot be checked" in schema_errors(schema, 1)[""]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


def test_a_cycle_of_references_ends():
    for schema in ({"$ref": "#"}, {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}):
        assert schema_problem(schema) == ""
        assert list(schema_errors(schema, 1)) == [""]


def test_ecmascript_escapes_are_understood():
    assert schema_errors({"pattern": "^\\u00e9\\d\\/$"}, "é5/") == {}
    assert schema_errors({"pattern": r"^\\u0041$"}, r"\u0041") == {}


def test_unicode_classes_are_understood_and_byte_classes_are_refused():
    schema = {"pattern": r"^\p{Lu}\p{L}+$"}
    assert (schema_problem(schema), schema_errors(schema, "Äpfel"), schema_errors(schema, "pfel") != {}) == (
        "",
        {},
        True,
    )
    assert "part of a character" in schema_problem({"pattern": r"a\\\C"})
    assert schema_problem({"pattern": r"a\\C"}) == ""


def test_a_field_may_have_the_name_of_a_keyword():
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}, "$ref": {"type": "integer"}}}
    assert schema_problem(schema) == ""
    assert schema_errors(schema, {"pattern": "(", "$ref": "x"}) == {"$ref": "'x' is not of type 'integer'"}


def test_a_form_of_two_thousand_rows_is_checked():
    row = {"type": "object", "required": ["a"], "properties": {name: {"type": "string"} for name in "abcde"}}
    schema = {"type": "array", "items": row | {"additionalProperties": False}}
    rows = [dict.fromkeys("abcde", "x")] * 2000
    assert schema_errors(schema, rows) == {}
    assert list(schema_errors(schema, [*rows, {"a": 1, "f": 2}])) == ["2000.a", "2000"]


simple = st.recursive(
    st.sampled_from([
        {}, True, False, {"type": "string"}, {"type": "integer"}, {"minimum": 2}, {"maxLength": 2}, {"const": 1.0},
        {"enum": [1, "a", None, True]}, {"uniqueItems": True}, {"pattern": "^a"}, {"minItems": 1},
        {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        {"properties": {"a": {"type": "string"}}, "additionalProperties": False}, {"required": ["a"]},
        {"additionalProperties": False, "patternProperties": {"b$": True}},
    ]),
    lambda below: st.one_of(
        st.builds(lambda each: {"allOf": each}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda each: {"anyOf": each}, st.lists(below, min_size=1, max_size=3)),
        st.builds(lambda one: {"not": one}, below),
        st.builds(lambda one: {"items": one}, below),
        st.builds(lambda one: {"properties": {"a": one, "b": one}}, below),
        st.builds(lambda one, two: {"if": one, "then": two}, below, below),
        st.builds(lambda one: {"contains": one, "minContains": 1}, below),
        st.builds(lambda one: {"propertyNames": one}, below),
    ),
    max_leaves=6,
)  # fmt: skip
values = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2, 3.5, "", "a", "ab", "abc"]),
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "ab", "c"]), below, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(simple, values)
def test_within_the_budget_errors_are_those_of_jsonschema(schema, value):
    whole = {"allOf": [schema]}
    valid = Draft202012Validator(whole).is_valid(value)
    assert (schema_errors(whole, value) == {}) == valid


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30))
@example("\\C")
@example("\\\\C")
@example("\\p{L}")
@example("\\Qa\\E")
@example("(?<name>a)")
@example("a{2,1}")
def test_any_text_is_a_pattern_or_is_refused_with_a_reason(text):
    problem = schema_problem({"pattern": text})
    errors = schema_errors({"pattern": text}, "some text")
    assert ("" in errors and "cannot be checked" in errors[""]) == bool(problem)


def test_each_check_has_its_own_budget():
    schema, value = COSTLY["a reference that doubles"]
    assert schema_errors(schema, value) == TOO_COSTLY
    assert schema_errors({"type": "string"}, "x") == {}
    assert validator.steps_left.get(None) is None


def test_a_valid_schema_is_checked_once_and_an_invalid_one_each_time():
    def checks_of(schema: dict) -> int:
        before = check._require_supported.cache_info().misses
        assert [bool(schema_problem(dict(schema))) for _ in range(3)] == ["$id" in schema] * 3
        return check._require_supported.cache_info().misses - before

    assert [checks_of({"title": "checked once", **more}) for more in ({}, {"$id": "x"})] == [1, 3]


DECIMAL = r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"
EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (DECIMAL, ["12.50", "-7", "+.5"], ["", "-", "+.", "12,50", "ten"]),
        (EMAIL, ["ann@example.org", "a.b+c@mail.example.org"], [".ann@example.org", "a..b@example.org", "ann", "a@b"]),
        (r"^(?=.*\d)(?=.*[a-z]).{4,}$", ["abc1", "1234x"], ["abcd", "1234", "a1"]),
        (r"^(?!(?:test|[)(])-)[a-z-]+$", ["prod", "testing"], ["test-a"]),
        (r"^\(?=x$", ["(=x", "=x"], ["x"]),
    ],
)
def test_look_ahead_at_the_beginning_is_checked(pattern, right, wrong):
    schema = {"type": "string", "pattern": pattern}
    assert schema_problem(schema) == ""
    assert [text for text in right if schema_errors(schema, text)] == []
    assert [text for text in wrong if not schema_errors(schema, text)] == []


@pytest.mark.parametrize("pattern", [r"a(?!b)", r"^(?!a)b|c$", r"(?<=a)b", r"x(?<!y)z", r"^(?=a(?=b))a", "(?=a)b"])
def test_other_look_around_is_accepted_and_the_form_says_that_it_is_not_checked(pattern):
    schema = {"type": "string", "pattern": pattern}
    assert (schema_problem(schema), schema_errors(schema, "anything")) == ("", {})
    assert "only the requesting program can check" in form_from_schema(schema, "Code").limits
    assert "only the requesting program" not in form_from_schema({"type": "string", "pattern": DECIMAL}, "Code").limits


@given(st.text("^$(?!=<:ab|[]\\\\)*", max_size=14))
def test_no_pattern_breaks_the_check(pattern):
    schema = {"type": "string", "pattern": pattern}
    if not schema_problem(schema):
        assert schema_errors(schema, "ab").keys() <= {""}
        assert "invalid" not in str(schema_errors(schema, "ab"))
