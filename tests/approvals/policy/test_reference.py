"""Matches fit the same requests as a naive reference, for all matches and requests."""

from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from approvals.policy.documents import InvalidMatch, match_from
from approvals.policy.globs import Glob
from approvals.policy.match import Facts
from approvals.text.names import fold

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5, "", "1", "ab", "aab"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "~", "/"]), inner, max_size=3)
    ),
    max_leaves=8,
)
pointers = st.lists(st.sampled_from(["a", "b", "~0", "~1", "0", "1"]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
tests_of_values = st.one_of(
    st.fixed_dictionaries({"equals": json_values}),
    st.fixed_dictionaries({"one_of": st.lists(json_values, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"at_least": st.integers(-3, 3)}),
    st.fixed_dictionaries({"at_least": st.integers(-3, 0), "at_most": st.integers(0, 3)}),
    st.fixed_dictionaries({"starts_with": st.sampled_from(["a", "aa", "1"])}),
    st.fixed_dictionaries({"like": st.text("ab*", min_size=1, max_size=4)}),
)
names = st.sampled_from(["Bash", "bash", "BASH ", "read_file", "a*b", "\uff22ash", ""])
patterns = st.sampled_from(["Bash", "*", "b*", "*_*", "a*b", "READ_FILE"])
documents = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(patterns, min_size=1, max_size=3),
        "agents": st.lists(patterns, min_size=1, max_size=3),
        "requesters": st.lists(st.integers(1, 3), min_size=1, max_size=2),
        "input": st.lists(
            st.builds(lambda pointer, test: {"pointer": pointer, **test}, pointers, tests_of_values),
            min_size=1,
            max_size=3,
        ),
    },
)


def naively_folded(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", folded)


def naively_like(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def naive_value(value: object, pointer: str) -> list[object]:
    """The value behind a pointer in a list, which is empty if there is none."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name in map(str, range(len(value))):
            value = value[int(name)]
        else:
            return []
    return [value]


def plain_json(value: object) -> str:
    """JSON in which equal numbers have one text."""
    match value:
        case bool() | None | str():
            return json.dumps(value)
        case int() | float():
            return repr(float(value))
        case list():
            return f"[{','.join(map(plain_json, value))}]"
        case dict():
            return f"{{{','.join(f'{json.dumps(name)}:{plain_json(value[name])}' for name in sorted(value))}}}"
    raise AssertionError(value)


def naive_test(test: dict[str, object], value: object) -> bool:
    number = type(value) in {int, float}
    match test:
        case {"equals": wanted}:
            return plain_json(wanted) == plain_json(value)
        case {"one_of": wanted}:
            return plain_json(value) in map(plain_json, wanted)
        case {"starts_with": text}:
            return type(value) is str and value[: len(text)] == text
        case {"like": pattern}:
            return type(value) is str and naively_like(pattern, value)
    return number and test.get("at_least", -99) <= value <= test.get("at_most", 99)


def naive_match(document: dict[str, list], facts: Facts) -> bool:
    for name, value in (("tools", facts.tool), ("agents", facts.agent)):
        wanted = document.get(name)
        likes = [naively_like(naively_folded(pattern), naively_folded(value)) for pattern in wanted or []]
        if wanted is not None and (not value or not any(likes)):
            return False
    if facts.requester not in document.get("requesters", [facts.requester]):
        return False
    conditions = document.get("input", [])
    values = [(item, naive_value(facts.input, item["pointer"])) for item in conditions]
    return all(held and naive_test(item, held[0]) for item, held in values)


facts_of_requests = st.builds(
    Facts,
    tool=names,
    agent=names,
    requester=st.none() | st.integers(1, 3),
    input=st.dictionaries(st.sampled_from(["a", "b", "~", "/"]), json_values, max_size=3),
)


@given(documents, facts_of_requests)
def test_a_match_fits_what_a_naive_one_fits(document, facts):
    match = match_from(document)
    assert match.fits(facts) == naive_match(document, facts)
    assert match.fits(facts) == all(reason.fits for reason in match.reasons(facts))


@given(st.recursive(json_values, lambda inner: st.dictionaries(st.sampled_from([*"ab", "input", "tools"]), inner)))
def test_any_json_is_a_match_or_is_refused_with_its_faults(document):
    try:
        match_from(document)
    except InvalidMatch as refusal:
        assert refusal.faults


@given(st.text())
def test_a_name_that_was_folded_stays_as_it_is(name):
    assert fold(fold(name)) == fold(name)
    assert fold(name.upper()) == fold(name.lower()) or not name.isascii()


# No part of the text is found twice.
@example("a*bb*b", "abb")
@example("*ab*ba*", "aba")
@given(st.text("ab*", max_size=8), st.text("ab*\n", max_size=12))
def test_patterns_fit_as_regular_expressions_would(pattern, text):
    assert Glob(pattern).fits(text) == naively_like(pattern, text)
