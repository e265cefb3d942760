"""Environments of their own for agent frameworks, whose requirements exclude each other.

    python -m tests.contract.frameworks.environments langchain

makes one in .venv-contract/langchain, with the packages of tests/contract/frameworks/langchain/requirements.txt and the client
of clients/python, as built: what `pip install pausepoint` would install.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
CLIENT = ROOT / "clients" / "python"


def folder(name: str) -> Path:
    return ROOT / ".venv-contract" / name


def ready(name: str) -> bool:
    """Whether the environment exists and was made from the files as they are now."""
    stamp = folder(name) / "ready"
    return stamp.is_file() and stamp.read_text() == _digest(name)


def python(name: str) -> Path:
    return folder(name) / "bin" / "python"


def make(name: str) -> None:
    """Make the environment, unless it is ready."""
    if ready(name):
        return
    venv.create(folder(name), with_pip=True, clear=True)
    pip = [str(python(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(HERE / name / "requirements.txt"), str(CLIENT)], check=True)
    (folder(name) / "ready").write_text(_digest(name))


def _digest(name: str) -> str:
    files = [HERE / name / "requirements.txt", CLIENT / "pyproject.toml", *sorted((CLIENT / "pausepoint").glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        make(wanted)
