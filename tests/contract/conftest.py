"""The tests of adapters: `cases` makes one test of each case of the table."""

from __future__ import annotations

import os

import pytest

pytest.register_assert_rewrite("tests.contract.frameworks.cases")

from tests.contract.frameworks.cases import CASES  # noqa: E402 - it has the assertions of these tests

#: What CI leaves out, and what programs observe at a pause: five cases that each adapter's own tests show, too, with its exact
#: words, and two that the tests of the clients show.
ON_DEMAND = () if "ALL_CASES" in os.environ else ("approve", "edit", "reject", "expire", "raises", "grant", "away")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with the mark `cases` all cases but those without which its framework is."""
    mark = metafunc.definition.get_closest_marker("cases")
    if mark is None:
        return
    without = mark.kwargs.get("without", ())
    assert set(without) <= set(CASES), without
    names = [name for name in CASES if name not in (*without, *ON_DEMAND)]
    metafunc.parametrize("case", [CASES[name] for name in names], ids=names)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the programs that observe a pause, unless ALL_CASES or, to store their observations, STORE_PAUSES is set."""
    if ON_DEMAND and "STORE_PAUSES" not in os.environ:
        left_out = [item for item in items if item.path.name == "test_at_a_pause.py"]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
