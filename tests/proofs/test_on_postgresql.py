"""Run the tests that need PostgreSQL in every run, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.db import connection

from tests.support.root import ROOT
from tests.support.services import postgresql  # noqa: F401


@pytest.mark.skipif(connection.vendor == "postgresql", reason="this run has them itself")
@pytest.mark.usefixtures("postgresql")
def test_the_races_of_real_locks_end_well_and_json_stays_exact():
    files = [
        *sorted((ROOT / "tests" / "proofs" / "postgresql").glob("test_races_*.py")),
        ROOT / "tests/approvals/db/test_exact_json.py",
        ROOT / "tests/approvals/resuming/test_races.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, files)],
        cwd=ROOT,
        env=os.environ | {"TEST_ON": "postgresql"},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
