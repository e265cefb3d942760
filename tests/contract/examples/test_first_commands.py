"""What the documentation tells a newcomer to type works as it stands, in a shell that knows nothing of Pausepoint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from approvals.access.permissions import KEY
from tests.support.processes.deployed import KEPT
from tests.support.processes.server import PATIENCE
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

GUIDES = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*/README.md"), *ROOT.glob("clients/*/README.md")]


def commands() -> dict[str, str]:
    """Every line that makes a key, by the page and the name that it has there."""
    fenced = {
        guide: "\n".join(re.findall(r"```(?:sh|console)?\n(.*?)```", guide.read_text(), re.S)) for guide in GUIDES
    }
    return {
        f"{guide.relative_to(ROOT)}:{number}": line
        for guide, text in fenced.items()
        for number, line in enumerate(text.splitlines())
        if "manage.py createkey" in line
    }


def shell(command: str, database: Path) -> str:
    """What a command of the guides prints in a clone of its own; only the database is another one."""
    bare = {name: os.environ[name] for name in KEPT if name in os.environ}
    env = bare | {"DATABASE_URL": f"sqlite:///{database}", "PYTHONDONTWRITEBYTECODE": "1"}
    line = command.replace(".venv/bin/python", sys.executable)
    ended = subprocess.run(["sh", "-c", line], cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The database of a fresh `make demo`."""
    database = tmp_path_factory.mktemp("demo") / "demo.sqlite3"
    shell("DEBUG=1 .venv/bin/python manage.py migrate --verbosity 0", database)
    shell("DEBUG=1 .venv/bin/python manage.py seed_demo", database)
    return database


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
@pytest.mark.parametrize("place", commands())
def test_every_guide_s_command_makes_a_key(demo, place):
    line = commands()[place]
    name = re.search(r"(\w+)=\$\(", line)
    printed = shell(f'{line}\nprintf %s "${name[1]}"' if name else line, demo)
    assert KEY.fullmatch(printed.strip()), printed


def test_there_are_such_commands():
    assert len(commands()) >= 6


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize(
    ("words", "address"),
    [
        ([], "http://127.0.0.1:8000"),
        (["PORT=9123"], "http://127.0.0.1:9123"),
        (["PORT=9123", "PUBLIC_URL=https://desk.example.org"], "https://desk.example.org"),
    ],
)
def test_links_of_the_demo_follow_its_port(words, address):
    env = {name: value for name, value in os.environ.items() if name not in {"PORT", "PUBLIC_URL", "MAKEFLAGS"}}
    dry = ["make", "--dry-run", "--old-file=.venv/ready", "demo", *words]
    lines = subprocess.run(dry, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = [line for line in lines if "manage.py" in line]
    assert len(ours) == 3
    assert all(f" PUBLIC_URL={address} " in line for line in ours)
