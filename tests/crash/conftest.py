"""What the crash tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.till import make_database


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database with the demo's people, made once."""
    database = tmp_path_factory.mktemp("till") / "template.sqlite3"
    make_database(database)
    return database
