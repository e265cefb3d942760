"""An environment of its own for each rival, made on demand in `.venv-peers`."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

from tests.support.root import ROOT

RIVALS = Path(__file__).parent / "rivals"


def python(rival: str) -> Path:
    """Return the Python that has the packages of `rivals/RIVAL.txt`. Downloads them if they are missing or have changed."""
    folder = ROOT / ".venv-peers" / rival
    wanted, installed = RIVALS / f"{rival}.txt", folder / "installed.txt"
    if not installed.is_file() or installed.read_text() != wanted.read_text():
        venv.create(folder, with_pip=True, clear=True)
        install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            str(wanted),
        ]
        subprocess.run([str(folder / "bin" / "python"), *install], check=True)
        installed.write_text(wanted.read_text())
    return folder / "bin" / "python"
