"""The renderers of Mattermost from npm; without npm, these tests are skipped with one line."""

from __future__ import annotations

import pytest

from tests.support.services import find_npm


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()
