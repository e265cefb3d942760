"""Canonical JSON: one form for each value, a reason for every value that cannot be stored, and no other error."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.db.canonical_json import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_SAFE_INTEGER,
    NotCanonical,
    canonical,
    clean_json,
    clean_text,
    digest,
    parse,
)

#: Any text at all, with NUL and half characters, and text that a database takes.
RAW_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
INTEGERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def json_values(text: st.SearchStrategy[str], numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | numbers | text
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=12
    )


VALUES = json_values(TEXT, INTEGERS | FLOATS)
#: Beyond 2^53 a float is written without a point and reads as an integer, which is refused.
READABLE = json_values(TEXT, INTEGERS | st.floats(-(2.0**53) + 1, 2.0**53 - 1))


def read(encoded: bytes) -> Any:
    """As JSON is read where every number is a double, as in RFC 8785."""
    return json.loads(encoded, parse_int=float)


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@given(VALUES)
def test_the_canonical_form_parses_back_to_the_value(value):
    assert read(canonical(value)) == value


@given(VALUES | json_values(TEXT, INTEGERS))
def test_the_canonical_form_is_that_of_the_library(value):
    """Python's own encoder makes it of values whose names are in ASCII, and whose floats both write alike."""
    assert canonical(value) == rfc8785.dumps(value)


@given(st.floats(1e-6, 1e-3) | st.floats(1, 1e4) | st.floats(1e14, 1e17) | st.integers(1, 2**53).map(float))
def test_the_canonical_form_of_a_float_is_that_of_the_library(number):
    for signed in (number, -number):
        assert canonical([signed]) == rfc8785.dumps([signed])


@given(READABLE)
def test_a_value_parsed_from_the_canonical_form_has_the_same_form(value):
    encoded = canonical(value)
    assert canonical(parse(encoded.decode())) == encoded


@given(st.dictionaries(TEXT, VALUES, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value, random):
    keys = list(value)
    random.shuffle(keys)
    shuffled = {key: value[key] for key in keys}
    assert (canonical(shuffled), digest(shuffled)) == (canonical(value), digest(value))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        # RFC 8785, 3.2.2 and 3.2.3: numbers as ECMAScript writes them, keys by their UTF-16 units.
        (
            [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
            "[333333333.3333333,1e+30,4.5,0.002,1e-27]",
        ),
        ([1.0, -0.0, 1e21, 1e20, 5e-324], "[1,0,1e+21,100000000000000000000,5e-324]"),
        (
            {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7},
            '{"\\r":2,"1":4,"\x80":6,"\u00f6":7,"\u20ac":1,"\U0001f600":5,"\ufb33":3}',
        ),
        ('\u20ac$\x0f\nA\'B"\\\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        ({"b": [True, False, None], "a": {}}, '{"a":{},"b":[true,false,null]}'),
        ((1, 2), "[1,2]"),
        (MAX_SAFE_INTEGER, "9007199254740991"),
    ],
)
def test_the_canonical_form_follows_rfc_8785(value, form):
    assert canonical(value) == form.encode()
    assert digest(value) == "sha256:" + hashlib.sha256(form.encode()).hexdigest()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "NaN and Infinity are not JSON"),
        ([math.inf], "NaN and Infinity are not JSON"),
        ({"a": -math.inf}, "NaN and Infinity are not JSON"),
        (2**53, "an integer is larger than 2^53; send it as a string"),
        (-(2**53), "an integer is larger than 2^53; send it as a string"),
        ("\ud800", "text contains a NUL or an unpaired surrogate"),
        ({"\udfff": 1}, "text contains a NUL or an unpaired surrogate"),
        (["a\x00b"], "text contains a NUL or an unpaired surrogate"),
        ({1: 2}, "object keys must be text"),
        ({"a": {None: 1}}, "object keys must be text"),
        (b"bytes", "bytes is not a JSON type"),
        ({"a": {1, 2}}, "set is not a JSON type"),
        (nested(MAX_DEPTH + 1), "nested too deeply"),
        ("x" * (MAX_BYTES - 1), "larger than 1,000,000 bytes"),
        ("\u20ac" * (MAX_BYTES // 2), "larger than 1,000,000 bytes"),
    ],
)
def test_a_value_that_cannot_be_stored_is_refused_with_a_reason(value, why):
    with pytest.raises(NotCanonical) as refusal:
        canonical(value)
    assert str(refusal.value) == why


def test_values_exactly_at_the_bounds_are_accepted():
    assert len(canonical("x" * (MAX_BYTES - 2))) == MAX_BYTES
    assert canonical(nested(MAX_DEPTH)).count(b"[") == MAX_DEPTH // 2
    assert canonical([[1]], max_depth=2) == b"[[1]]"
    with pytest.raises(NotCanonical, match="nested too deeply"):
        canonical([[1]], max_depth=1)
    with pytest.raises(NotCanonical, match="larger than 4 bytes"):
        canonical("abc", max_bytes=4)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not valid JSON: Expecting value: line 1 column 1 (char 0)"),
        ("NaN", "NaN is not JSON"),
        ('{"a": [-Infinity]}', "-Infinity is not JSON"),
        ("1e400", "NaN and Infinity are not JSON"),
        ("9007199254740993", "an integer is larger than 2^53; send it as a string"),
        ('{"a": {"b": 1, "\\u0062": 2}}', "has the name 'b' more than once"),
        ('"\\ud800"', "text contains a NUL or an unpaired surrogate"),
        ('"\\u0000"', "text contains a NUL or an unpaired surrogate"),
        ("[" * 200 + "]" * 200, "nested too deeply"),
        ("[" * 9_000 + "]" * 9_000, "nested too deeply"),
        ("[" * 400_000, "has more than 10,000 values"),
        ("1" + " " * MAX_BYTES, "larger than 1,000,000 characters"),
    ],
)
def test_invalid_json_text_is_refused_with_a_reason(text, why):
    with pytest.raises(NotCanonical) as refusal:
        parse(text)
    assert str(refusal.value) == why


def test_a_number_with_many_digits_is_refused_like_any_large_number():
    with pytest.raises(NotCanonical):
        parse("9" * 5000)


JSON_LIKE = st.text(st.sampled_from('{}[]",:0123456789.eE+-ntrufalse \\\x00\ud800'), max_size=40)


@settings(max_examples=300)
@given(RAW_TEXT | JSON_LIKE | json_values(RAW_TEXT, st.integers() | st.floats()).map(json.dumps))
def test_parse_returns_a_canonical_value_or_raises_only_not_canonical(text):
    try:
        value = parse(text)
    except NotCanonical as refusal:
        assert str(refusal) != ""
    else:
        assert read(canonical(value)) == value


@given(RAW_TEXT)
def test_cleaned_text_can_be_stored_and_clean_text_stays_unchanged(text):
    cleaned = clean_text(text)
    assert json.loads(canonical(cleaned)) == cleaned
    assert clean_text(cleaned) == cleaned
    if "\x00" not in text and text == text.encode("utf-8", "ignore").decode():
        assert cleaned == text


def test_clean_text_replaces_only_what_no_database_can_store():
    assert clean_text("a\x00b\ud800c\U0001f600") == "a\ufffdb\ufffdc\U0001f600"


@given(json_values(RAW_TEXT, INTEGERS | FLOATS))
def test_cleaned_json_can_be_stored_whatever_text_it_had(value):
    cleaned = clean_json(value)
    assert read(canonical(cleaned)) == cleaned
    assert clean_json(cleaned) == cleaned


@given(VALUES)
def test_clean_json_leaves_clean_values_unchanged(value):
    assert canonical(clean_json(value)) == canonical(value)


def test_clean_json_converts_tuples_and_keys_that_are_not_strings():
    assert clean_json({1: ("a\x00", {"b\ud800": None})}) == {"1": ["a\ufffd", {"b\ufffd": None}]}
