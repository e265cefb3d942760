"""Microsoft's renderer from npm, in a browser; without npm or Chromium, these tests are skipped with one line."""

from __future__ import annotations

import pytest

from tests.support.services import find_chromium, find_npm


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()
    find_chromium()
