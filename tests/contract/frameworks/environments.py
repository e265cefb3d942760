"""Environments of their own for agent frameworks, whose requirements exclude each other.

    python -m tests.contract.frameworks.environments langchain

makes one in .venv-contract/langchain, with the packages of tests/contract/frameworks/langchain/requirements.txt and the client
of clients/python with its extra for the framework, as built, like `pip install "pausepoint[langchain]"`. Packages
of a package.json beside it come from npm. With LOWEST in its environment, it makes one in .venv-contract/langchain-lowest, with
the oldest version that the extra allows; the tests use that one then.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
CLIENT = ROOT / "clients" / "python"
#: Whether the oldest versions are wanted that the extras of the client allow.
LOWEST = bool(os.environ.get("LOWEST"))
#: The extras that do not have the name of their folder.
EXTRAS = {"claude_agent_sdk": "claude"}


def folder(name: str) -> Path:
    return ROOT / ".venv-contract" / (f"{name}-lowest" if LOWEST else name)


def extra(name: str) -> str:
    """Return the extra of the client for a framework; empty if it needs none."""
    wanted = EXTRAS.get(name, name.replace("_", "-"))
    return wanted if wanted in _extras() else ""


def lowest(name: str) -> list[str]:
    """Return the oldest versions that the extra of a framework allows, as requirements; none if it has no extra."""
    return [re.sub(r">=([^,]+).*", r"==\1", needed) for needed in _extras().get(extra(name), [])]


def _extras() -> dict[str, list[str]]:
    return dict(_project()["optional-dependencies"])


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    return project


def ready(name: str) -> bool:
    """Whether the environment exists and was made from the files as they are now."""
    return (_stamp(name, "packages"), _stamp(name, "client")) == (_packages(name), _client())


def python(name: str) -> Path:
    return folder(name) / "bin" / "python"


def node_modules(name: str) -> Path:
    """Where the packages of npm are, for an environment with a package.json."""
    return folder(name) / "npm" / "node_modules"


def make(name: str) -> None:
    """Make the environment, or bring it up to date."""
    # Files of an earlier build would be packed again, also those that are gone by now.
    shutil.rmtree(CLIENT / "build", ignore_errors=True)
    # Compiled when it is imported, because the tests of a framework import a small part of all this.
    pip = [str(python(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    if _stamp(name, "packages") != _packages(name):
        venv.create(folder(name), with_pip=True, clear=True)
        client = f"{CLIENT}[{extra(name)}]" if extra(name) else str(CLIENT)
        oldest = lowest(name) if LOWEST else []
        subprocess.run([*pip, "-r", str(HERE / name / "requirements.txt"), client, *oldest], check=True)
        if (HERE / name / "package.json").is_file():
            _make_node_modules(name)
    elif _stamp(name, "client") != _client():
        subprocess.run([*pip, "--force-reinstall", "--no-deps", str(CLIENT)], check=True)
    (folder(name) / "client").write_text(_client())
    (folder(name) / "packages").write_text(_packages(name))


def _make_node_modules(name: str) -> None:
    # Not beside the tests: some packages bring Python files, which the checks of this project would read.
    place = node_modules(name).parent
    place.mkdir()
    for file in _npm_files(name):
        shutil.copy(file, place)
    # With its install scripts: by one of them Claude Code unpacks its program.
    command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=place, check=True)


def _npm_files(name: str) -> list[Path]:
    return [file for file in (HERE / name / "package.json", HERE / name / "package-lock.json") if file.is_file()]


def _stamp(name: str, of: str) -> str:
    file = folder(name) / of
    return file.read_text() if file.is_file() else ""


def _packages(name: str) -> str:
    needed = [*_project()["dependencies"], *_extras().get(extra(name), [])]
    files = _digest([HERE / name / "requirements.txt", *_npm_files(name)])
    return f"{files} {' '.join(needed)}"


def _client() -> str:
    package = CLIENT / "pausepoint"
    return _digest(sorted([*package.rglob("*.py"), *package.rglob("*.js")]))


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        # The tests of the packages make their environments themselves.
        if (HERE / wanted / "requirements.txt").is_file():
            make(wanted)
