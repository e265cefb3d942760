"""The tests of adapters: `cases` makes one test of each case of the table."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.contract.frameworks.cases")

from tests.contract.frameworks.cases import CASES  # noqa: E402 - it has the assertions of these tests


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with the mark `cases` all cases but those without which its framework is."""
    mark = metafunc.definition.get_closest_marker("cases")
    if mark is None:
        return
    without = mark.kwargs.get("without", ())
    assert set(without) <= set(CASES), without
    names = [name for name in CASES if name not in without]
    metafunc.parametrize("case", [CASES[name] for name in names], ids=names)
