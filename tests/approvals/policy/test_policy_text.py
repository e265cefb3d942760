"""The text of a policy: errors have the line of their subject, and differences are readable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.policies import MAX_BYTES, InvalidPolicy
from approvals.policy.policy_text import difference, line_of, place_of, read_text, write_text
from approvals.text.translatable import Sentence

TEXT = """{
  "four_eyes": false, "rules": [
    {"name": "a, {\\"}", "then": "ask"},
    {
      "name": "b",
      "when": "x",
      "ask": {"stages": [
        {"groups": [{},
          {"people": ["bob",
            "eve"]}]}
      ]}
    }
  ]
}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 1),
        ("four_eyes", 2),
        ("rules", 2),
        ("rules.0", 3),
        ("rules.0.then", 3),
        ("rules.1", 4),
        ("rules.1.when", 6),
        ("rules.1.ask.stages.0.groups.0", 8),
        ("rules.1.ask.stages.0.groups.1.people", 9),
        ("rules.1.ask.stages.0.groups.1.people.1", 10),
        ("rules.1.then", 4),
        ("nowhere", 1),
    ],
)
def test_a_path_has_the_line_of_its_member(path, line):
    assert line_of(TEXT, path) == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab{}[],:"\\', min_size=1, max_size=3), inner, max_size=3)
    ),
)


@given(JSON)
def test_every_member_has_the_line_that_it_begins_on(document):
    text = json.dumps(document, indent=1)
    places = dict(places_of(document))
    assert {path: line_of(text, path) for path in places} == places


def places_of(value: Any, path: str = "", line: int = 1) -> Iterator[tuple[str, int]]:
    """Yield the path and line of each member: with an indent, each stands on a line of its own."""
    yield path, line
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    line += 1
    for name, item in items:
        yield from places_of(item, f"{path}.{name}" if path else f"{name}", line)
        line += json.dumps(item, indent=1).count("\n") + 1


def test_what_is_no_json_is_refused_with_its_place():
    with pytest.raises(InvalidPolicy) as refusal:
        read_text('{\n  "rules": [}')
    assert (
        str(refusal.value.faults[""])
        == "not valid JSON: line 2, column 13: a value is missing, or is not in double quotes"
    )
    for text in ("[" * 100_000, "[" + "1," * 20_000 + "1]", '{"a": NaN}', '{"a": 1, "a": 2}', "x" * 500_000):
        with pytest.raises(InvalidPolicy) as refusal:
            read_text(text)
        assert list(refusal.value.faults) == [""]
    assert str(refusal.value.faults[""]) == "larger than 400,000 characters"


@pytest.mark.parametrize(
    ("text", "fits"), [("{}" + " " * (MAX_BYTES - 2), True), ("{}" + " " * (MAX_BYTES - 1), False)]
)
def test_a_text_of_as_many_characters_as_are_allowed_is_read(text, fits):
    if fits:
        assert read_text(text) == {}
        return
    with pytest.raises(InvalidPolicy) as refusal:
        read_text(text)
    assert str(refusal.value.faults[""]) == "larger than 400,000 characters"


def test_a_text_is_measured_in_bytes_too():
    with pytest.raises(InvalidPolicy) as refusal:
        read_text(f'"{"ü" * 200_000}"')
    assert str(refusal.value.faults[""]) == "larger than 400,000 bytes"


def test_a_fault_of_the_text_has_the_line_that_it_names_and_others_have_none():
    with pytest.raises(InvalidPolicy) as refusal:
        read_text('{\n  "rules": [}')
    faults = (refusal.value.faults[""], Sentence("is not known"), Sentence("%(line)s", {"line": "two"}))
    assert [place_of(fault) for fault in faults] == [2, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1 "b": 2}', "a comma or a bracket is missing before this"),
        ('{"a" 1}', "a colon is missing before this"),
        ("{a: 1}", "a name in double quotes is missing, or there is an extra comma"),
        ('{"a": yes}', "a value is missing, or is not in double quotes"),
        ('{"a": "\\x"}', "Invalid \\escape"),
        ("{} {}", "there is extra text after the end"),
        ('{"a": "b}', "the string that starts here has no closing quote"),
        ('{"a": "b\n"}', "a string contains a line break or another control character"),
    ],
)
def test_errors_of_json_are_explained_in_plain_words(text, message):
    with pytest.raises(InvalidPolicy) as refusal:
        read_text(text)
    assert str(refusal.value.faults[""]).partition(": line 1, ")[2].partition(": ")[2] == message


def test_a_policy_is_written_as_people_read_it():
    assert write_text({"name": "Zoë", "then": "ask"}) == '{\n  "name": "Zoë",\n  "then": "ask"\n}\n'
    assert read_text(write_text({"name": "Zoë"})) == {"name": "Zoë"}


def test_a_difference_shows_what_changes():
    before = {"rules": [{"name": f"{number}", "then": "ask"} for number in range(9)]}
    after = json.loads(json.dumps(before))
    after["rules"][4]["then"] = "deny"
    assert difference(write_text(before), write_text(before)) == []
    lines = difference(write_text(before), write_text(after))
    assert [line for line in lines if line[0] in "+-"] == ['-       "then": "ask"', '+       "then": "deny"']
    assert (lines[0], lines[1][:2], lines[-1], len(lines)) == ("…", "  ", "…", 10)
    assert difference("a\nb", "b\nc") == ["- a", "  b", "+ c"]
