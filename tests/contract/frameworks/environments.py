"""Environments of their own for agent frameworks, whose requirements exclude each other.

    python -m tests.contract.frameworks.environments langchain

makes one in .venv-contract/langchain, with the packages of tests/contract/frameworks/langchain/requirements.txt and the client
of clients/python, as built: what `pip install pausepoint` would install. Packages of a package.json beside it come from npm.
"""

from __future__ import annotations

import hashlib
import shutil
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
    return (_stamp(name, "packages"), _stamp(name, "client")) == (_packages(name), _client())


def python(name: str) -> Path:
    return folder(name) / "bin" / "python"


def make(name: str) -> None:
    """Make the environment, or bring it up to date."""
    # Files of an earlier build would be packed again, also those that are gone by now.
    shutil.rmtree(CLIENT / "build", ignore_errors=True)
    pip = [str(python(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if _stamp(name, "packages") != _packages(name):
        venv.create(folder(name), with_pip=True, clear=True)
        subprocess.run([*pip, "-r", str(HERE / name / "requirements.txt"), str(CLIENT)], check=True)
        if (HERE / name / "package.json").is_file():
            _install_from_npm(name)
    elif _stamp(name, "client") != _client():
        subprocess.run([*pip, "--force-reinstall", "--no-deps", str(CLIENT)], check=True)
    (folder(name) / "client").write_text(_client())
    (folder(name) / "packages").write_text(_packages(name))


def _install_from_npm(name: str) -> None:
    """Install the packages of a `package.json` too, for what is published there."""
    shutil.copy(HERE / name / "package.json", folder(name))
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder(name), check=True)


def _stamp(name: str, of: str) -> str:
    file = folder(name) / of
    return file.read_text() if file.is_file() else ""


def _packages(name: str) -> str:
    files = [HERE / name / "requirements.txt", HERE / name / "package.json", CLIENT / "pyproject.toml"]
    return _digest([file for file in files if file.is_file()])


def _client() -> str:
    return _digest(sorted((CLIENT / "pausepoint").glob("*.py")))


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        make(wanted)
