"""Choose the tests for another database (FEW_CASES=1): those that touch the database, each with its first and its last case.

A test that touches the database says so by its mark or a fixture: without them, pytest-django refuses every query. The cases
of a test are data for the same statements.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest

FIXTURES = frozenset({"db", "transactional_db"})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "FEW_CASES" not in os.environ:
        return
    chosen = choose((item.nodeid, touches_database(item)) for item in items)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = [item for item in items if item.nodeid in chosen]


def touches_database(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("django_db") is not None
    return marked or not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def choose(tests: Iterable[tuple[str, bool]]) -> set[str]:
    """Return the ids of the chosen tests. Each test is given by its id and whether it touches the database."""
    cases: dict[str, list[str]] = {}
    for name, touches in tests:
        if touches:
            cases.setdefault(name.partition("[")[0], []).append(name)
    return {name for names in cases.values() for name in (names[0], names[-1])}
