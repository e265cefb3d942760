"""Which fast tests run again on PostgreSQL."""

from __future__ import annotations

from tests.support.selection import Candidate, choose, number


def candidate(name: str, *statements: int, seconds: float = 1.0, always: bool = False) -> Candidate:
    return Candidate(name, always, (seconds, frozenset(statements)))


def test_tests_that_commit_or_are_new_run_with_their_first_and_last_cases():
    commits = [candidate(f"a.py::test_races[{case}]", always=True) for case in range(5)]
    new = [Candidate(f"b.py::test_new[{case}]", False, None) for case in range(5)]
    assert choose([*commits, *new]) == {
        "a.py::test_races[0]",
        "a.py::test_races[4]",
        "b.py::test_new[0]",
        "b.py::test_new[4]",
    }


def test_all_statements_are_sent_by_the_cheapest_tests():
    tests = [
        candidate("test_commits", 1, always=True),
        candidate("test_nothing_new", 1),
        candidate("test_dear", 2, 3, seconds=9),
        candidate("test_cheap", 2),
        candidate("test_both", 3, 4),
    ]
    assert choose(tests) == {"test_commits", "test_cheap", "test_both"}


def test_a_case_between_the_first_and_the_last_runs_if_it_alone_sends_a_statement():
    cases = [candidate(f"test_races[{case}]", case % 2, always=True) for case in range(3)]
    assert choose(cases) == {"test_races[0]", "test_races[1]", "test_races[2]"}


def test_statements_that_differ_in_a_number_or_the_length_of_a_list_count_as_one():
    assert number('UPDATE "t" SET "a" = %s WHERE "id" IN (%s, %s, %s) LIMIT 21') == number(
        'UPDATE "t" SET "a" = %s WHERE "id" IN (%s) LIMIT 2'
    )
    assert number("INSERT INTO t VALUES (%s, %s), (%s, %s)") == number("INSERT INTO t VALUES (%s, %s)")
    assert number('SELECT "a"') != number('SELECT "b"')
