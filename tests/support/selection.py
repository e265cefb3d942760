"""Choose the tests that run again on PostgreSQL: together they send every statement that the tests send on SQLite.

`STATEMENTS=folder make test` records in the folder, on SQLite, the statements of each test. With the same variable,
`TEST_ON=postgresql` runs the tests that commit and those with generated data (Hypothesis), each with its first and its last
case, and as many others as are needed for all other statements, cheap ones first. A test without a record is run if it
touches the database. It says so by its mark or a fixture: without them, pytest-django refuses every query.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db.backends.utils import CursorWrapper

FOLDER = os.environ.get("STATEMENTS", "")
CHOOSES = os.environ.get("TEST_ON") == "postgresql"
FIXTURES = frozenset({"db", "transactional_db"})
REPEATED = re.compile(r"(%s|\(%s\))(?:, \1)+")
NUMBERS = re.compile(r"\d+")

#: Of each test of this process that touches the database: seconds of work, and the numbers of its statements.
_records: dict[str, tuple[float, list[int]]] = {}
_sent: set[str] = set()
_execute = CursorWrapper._execute_with_wrappers


class Candidate(NamedTuple):
    """A test that touches the database, with its record if it has one."""

    name: str
    always: bool
    record: tuple[float, frozenset[int]] | None


def number(statement: str) -> int:
    """Return the same number for statements that differ in the length of a list or in a number only."""
    values = REPEATED.sub(r"\1", statement)
    rows = REPEATED.sub(r"\1", values)
    return zlib.crc32(NUMBERS.sub("0", rows).encode())


def choose(candidates: Iterable[Candidate]) -> set[str]:
    """Return the names of the chosen tests."""
    tests = list(candidates)
    cases: dict[str, list[Candidate]] = {}
    for test in tests:
        if test.always or test.record is None:
            cases.setdefault(test.name.partition("[")[0], []).append(test)
    always = {case for cases_of_one in cases.values() for case in (cases_of_one[0], cases_of_one[-1])}
    sent = {statement for test in always if test.record for statement in test.record[1]}
    others = [(test.name, *test.record) for test in tests if test.record and test not in always]
    return {test.name for test in always} | set(_cover(others, sent))


def _cover(tests: list[tuple[str, float, frozenset[int]]], sent: set[int]) -> Iterator[str]:
    """Yield tests until all statements are sent, those first that send the most of what is left in a second of work."""

    def cost(place: int) -> float:
        _, seconds, statements = tests[place]
        left = len(statements - sent)
        return seconds / left if left else float("inf")

    queue = [(cost(place), place) for place in range(len(tests))]
    heapq.heapify(queue)
    while queue:
        expected, place = heapq.heappop(queue)
        now = cost(place)
        if now == float("inf"):
            continue
        # What it costs has risen since it was queued, if another test has sent some of its statements.
        if now > expected:
            heapq.heappush(queue, (now, place))
            continue
        name, _, statements = tests[place]
        sent |= statements
        yield name


def pytest_configure(config: pytest.Config) -> None:
    if FOLDER and not CHOOSES:
        CursorWrapper._execute_with_wrappers = _record  # type: ignore[method-assign]
        if not hasattr(config, "workerinput"):
            shutil.rmtree(FOLDER, ignore_errors=True)
            Path(FOLDER).mkdir(parents=True)


def _record(self: CursorWrapper, statement: Any, *args: Any, **kwargs: Any) -> Any:
    _sent.add(str(statement))
    return _execute(self, statement, *args, **kwargs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _sent.clear()
    work = time.process_time()
    result = yield
    if touches_database(item):
        _records[item.nodeid] = (time.process_time() - work, sorted(set(map(number, _sent))))
    return result


def pytest_sessionfinish() -> None:
    if _records and FOLDER and not CHOOSES:
        process = os.environ.get("PYTEST_XDIST_WORKER", "all")
        (Path(FOLDER) / f"{process}.json").write_text(json.dumps(_records))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not (FOLDER and CHOOSES):
        return
    records = {
        name: (seconds, frozenset(statements))
        for path in Path(FOLDER).glob("*.json")
        for name, (seconds, statements) in json.loads(path.read_text()).items()
    }
    chosen = choose(
        Candidate(item.nodeid, commits(item) or has_generated_data(item), records.get(item.nodeid))
        for item in items
        if touches_database(item)
    )
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def touches_database(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("django_db") is not None
    return marked or not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def commits(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    marked = mark is not None and bool(mark.kwargs.get("transaction"))
    return marked or "transactional_db" in getattr(item, "fixturenames", ())


def has_generated_data(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))
