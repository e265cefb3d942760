"""Which fast tests run on another database."""

from __future__ import annotations

from tests.support.selection import choose


def test_another_database_gets_the_tests_that_touch_it_with_their_first_and_last_cases():
    tests = [("a.py::test_words", False), ("a.py::test_rows", True)]
    cases = [(f"b.py::test_filters[{number}]", True) for number in range(5)]
    assert choose([*tests, *cases]) == {"a.py::test_rows", "b.py::test_filters[0]", "b.py::test_filters[4]"}
