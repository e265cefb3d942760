"""The tests of adapters: `cases` makes one test of each case of the table."""

from __future__ import annotations

import os

import pytest

pytest.register_assert_rewrite("tests.contract.frameworks.cases")

from tests.contract.frameworks.cases import CASES  # noqa: E402 - it has the assertions of these tests

#: Cases that each adapter's own tests show, too, with its exact words. CI leaves these out, and what programs observe at a pause.
ON_DEMAND = () if "ALL_CASES" in os.environ else ("approve", "edit", "reject", "expire", "raises")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with the mark `cases` all cases but those without which its framework is."""
    mark = metafunc.definition.get_closest_marker("cases")
    if mark is None:
        return
    without = mark.kwargs.get("without", ())
    assert set(without) <= set(CASES), without
    names = [name for name in CASES if name not in (*without, *ON_DEMAND)]
    metafunc.parametrize("case", [CASES[name] for name in names], ids=names)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ON_DEMAND and "STORE_PAUSES" not in os.environ:
        for item in items:
            if item.path.name == "test_at_a_pause.py":
                item.add_marker(pytest.mark.skip("On demand: ALL_CASES=1, or STORE_PAUSES=1 to keep what it sees."))
