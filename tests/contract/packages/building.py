"""Both clients, built as they are published, and a folder in which npm has installed one."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.support.root import ROOT
from tests.support.services import find_npm, install_packages, missing

PYTHON, JAVASCRIPT = ROOT / "clients" / "python", ROOT / "clients" / "javascript"
#: What builds and checks the Python package, in an environment of its own.
TOOLS = ROOT / ".venv-contract" / "packages"


def build_python(to: Path) -> list[Path]:
    """Build the sdist and the wheel, and check what PyPI would show."""
    # Files of an earlier build would be packed again, also those that are gone by now.
    shutil.rmtree(PYTHON / "build", ignore_errors=True)
    run([str(_tool("build")), "-m", "build", "--outdir", str(to), str(PYTHON)])
    built = sorted(to.iterdir())
    run([str(_tool("twine")), "-m", "twine", "check", "--strict", *map(str, built)])
    return built


def build_javascript(to: Path) -> Path:
    """Compile, check and pack the npm package."""
    install_packages(JAVASCRIPT)
    with (JAVASCRIPT / "tsconfig.json").open() as mark:
        # Tests that run in several processes would compile into each other's folder.
        fcntl.flock(mark, fcntl.LOCK_EX)
        shutil.rmtree(JAVASCRIPT / "dist", ignore_errors=True)
        run([find_npm(), "pack", "--pack-destination", str(to)], JAVASCRIPT)
    (packed,) = to.glob("*.tgz")
    return packed


def install_javascript(packed: Path, folder: Path) -> None:
    """Install a packed package in a folder, as its users do; without a network only if it has no dependencies."""
    command = [find_npm(), "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", str(packed)]
    run(command, folder)


def run(command: list[str], folder: Path = ROOT) -> str:
    """Run a command; its output, or the failure with all it has printed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def _tool(name: str) -> Path:
    """The Python that has `build` and `twine`."""
    python = TOOLS / "bin" / "python"
    if not (TOOLS / "lib").exists() or not list(TOOLS.glob(f"lib/*/site-packages/{name}")):
        venv.create(TOOLS, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        packages = ["build>=1.2,<2", "twine>=6.1,<7"]
        done = subprocess.run([*command, *packages], capture_output=True, text=True, check=False)
        if done.returncode:
            missing(f"no way to install {name} ({done.stderr.strip()[-200:]})", "Look at pip's index.")
    return python


if __name__ == "__main__":
    print(*build_python(Path(sys.argv[1])), build_javascript(Path(sys.argv[1])), sep="\n")
