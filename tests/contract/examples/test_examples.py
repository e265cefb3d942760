"""The examples work: their own tests, in a process of their own, with the settings that their README names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from django.db import connection

from tests.support.processes.shared import cluster
from tests.support.root import ROOT


def own_database(folder: Path) -> dict[str, str]:
    """A database other than that of these tests, which is in use: Django's test runner makes its own next to it."""
    if connection.vendor == "postgresql":
        return {"DATABASE_URL": cluster().url("bakery")}
    return {"TEST_DATABASE": str(folder / "bakery.sqlite3")}


def test_the_bakery_passes_its_own_tests(tmp_path):
    readme = (ROOT / "examples" / "bakery" / "README.md").read_text()
    exported = dict(
        re.findall(r"(\w+)=(\S+)", " ".join(line for line in readme.splitlines() if line.startswith("export")))
    )
    assert sorted(exported) == ["DEBUG", "HITL_AGENTS", "HITL_APPS", "HITL_EVENT_HANDLERS", "PYTHONPATH"]
    environment = os.environ | exported | own_database(tmp_path)
    command = [sys.executable, "manage.py", "test", "examples/bakery", "--verbosity", "0"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Ran 5 tests", done.stderr, re.MULTILINE), done.stderr
