"""Values of different types are neither equal nor different, at any depth."""

from __future__ import annotations

import pytest
from hypothesis import given

from approvals.db.canonical_json import same_json
from approvals.policy.conditions.equality import equal, every, one_of
from tests.approvals.policy.conditions.test_expressions import JSON


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1.0, True),
        (1, 2, False),
        (1, "1", None),
        (1, True, None),
        (0, False, None),
        (None, None, True),
        (None, "", None),
        ([], {}, None),
        ([1], [1, 2], False),
        ([1, "a"], [2, 3], False),
        ([1, "a"], [1, 3], None),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": "1"}, None),
        ({"a": 1, "b": 2}, {"a": "1", "b": 3}, False),
    ],
)
def test_what_is_of_another_type_gives_no_answer_unless_something_else_differs(left, right, expected):
    assert (equal(left, right), equal(right, left)) == (expected, expected)


@given(JSON, JSON)
def test_an_answer_is_that_of_a_comparison_of_json(left, right):
    assert equal(left, right) in {same_json(left, right), None}
    assert equal(left, left) is True


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [("a", ["b", "a"], True), ("a", ["b", 1, "a"], True), ("a", ["b", 1], None), ("a", ["b"], False), ("a", [], False)],
)
def test_one_of_several_is_found_whatever_the_others_are(value, wanted, expected):
    assert one_of(value, wanted) is expected


def test_one_no_is_a_no():
    assert [every([]), every([True, None]), every([None, False])] == [True, None, False]
