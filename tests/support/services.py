"""Services that some tests need: real processes, PostgreSQL, a browser and npm.

A missing service is reported in one line, however many tests it skips; with REQUIRE_SERVICES=1 it is a failure.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.processes import shared
from tests.support.processes.postgres import Cluster, NotFound
from tests.support.processes.server import Server

#: The browser that people use.
CHROMIUM = "/usr/bin/chromium"
#: Its engine alone, for half the CPU time; it shows the same pages, but has no notifications.
HEADLESS = "/usr/bin/chromium-headless-shell"
#: Rounds that a proof plays at each of its points.
ROUNDS = int(os.environ.get("ROUNDS", "1"))


def missing(what: str, remedy: str) -> NoReturn:
    """Skip, or fail where everything is required (CI)."""
    words = f"!!! NOT TESTED, because there is {what}. {remedy}"
    if os.environ.get("REQUIRE_SERVICES") == "1":
        pytest.fail(words, pytrace=False)
    pytest.skip(words)


@pytest.fixture(scope="session")
def real_processes() -> None:
    """Require POSIX signals and a port to listen on."""
    if os.name != "posix":
        missing("no POSIX system", "Run these tests on Linux or macOS.")
    try:
        socket.create_server(("127.0.0.1", 0)).close()
    except OSError as error:
        missing(f"no port to listen on ({error})", "Allow listening on 127.0.0.1.")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a database of its own, for all tests of a module."""
    with Server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def postgresql() -> Cluster:
    """The PostgreSQL of this test run."""
    try:
        return shared.cluster()
    except NotFound as error:
        missing(str(error), "apt-get install postgresql, or set PG_BIN to the folder with its programs.")


def find_chromium(*, whole: bool = False) -> str:
    """The path of a Chromium that playwright can drive; its engine is enough unless the whole is needed.

    Call it from a hook and not from a fixture: pytest would report each skipped test on a line of its own.
    """
    if importlib.util.find_spec("playwright") is None:
        missing("no playwright", "pip install -r tests/requirements.txt")
    named = os.environ.get("CHROMIUM")
    paths = [named] if named else [CHROMIUM] if whole else [HEADLESS, CHROMIUM]
    found = next(filter(None, map(shutil.which, paths)), None)
    if found is None:
        missing(f"no Chromium at {paths[-1]}", "apt-get install chromium, or set CHROMIUM to its path.")
    return found


def find_npm() -> str:
    """Return the path of npm, next to a node that runs its packages. Call it from a hook, as above."""
    found = shutil.which("npm")
    if found is None or shutil.which("node") is None:
        missing("no npm", "apt-get install nodejs npm.")
    return found


def install_packages(folder: Path) -> None:
    """Install the packages of the folder's package-lock.json in the folder, once."""
    with (folder / "package.json").open() as mark:
        # Tests that run in several processes would install into each other's folder.
        fcntl.flock(mark, fcntl.LOCK_EX)
        _install(folder)


def _install(folder: Path) -> None:
    wanted, done = folder / "package-lock.json", folder / "node_modules" / ".installed"
    if done.exists() and done.read_text() == wanted.read_text():
        return
    # Not `npm ci`, which wants the binaries of all other platforms to be listed too.
    command = [find_npm(), "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if installed.returncode:
        missing(f"no way to install npm packages ({installed.stderr.strip()[-200:]})", "Look at npm's registry.")
    done.write_text(wanted.read_text())
