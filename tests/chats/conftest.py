"""Fixtures of the tests of chats."""

from __future__ import annotations

import pytest

from chats.engine import streams


@pytest.fixture(autouse=True)
def no_earlier_events() -> None:
    """Forget the events of other tests: databases that are put back give their turns' ids again."""
    streams._feeds.clear()
