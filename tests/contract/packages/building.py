"""Build both packages, and install the one for JavaScript in a folder."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.root import ROOT
from tests.support.services import find_npm, install_packages

PYTHON, JAVASCRIPT = ROOT / "clients" / "python", ROOT / "clients" / "javascript"


def build_javascript(to: Path) -> Path:
    """Compile, check and pack the npm package."""
    install_packages(JAVASCRIPT)
    with javascript_alone():
        shutil.rmtree(JAVASCRIPT / "dist", ignore_errors=True)
        run([find_npm(), "pack", "--pack-destination", str(to)], JAVASCRIPT)
    (packed,) = to.glob("*.tgz")
    return packed


@contextmanager
def javascript_alone() -> Iterator[None]:
    """Keep other processes of the tests from compiling into the folder that this one compiles into or reads."""
    with (JAVASCRIPT / "tsconfig.json").open() as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        yield


def install_javascript(packed: Path, folder: Path) -> None:
    """Install a packed package in a folder, as its users do."""
    command = [find_npm(), "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", str(packed)]
    run(command, folder)


def run(command: list[str], folder: Path = ROOT) -> str:
    """Run a command; its output, or the failure with all it has printed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout
