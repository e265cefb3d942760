"""A fresh clone of the project after its set-up command, with a clean shell."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.processes.deployed import KEPT
from tests.support.processes.server import PATIENCE, until
from tests.support.root import ROOT

#: Not compiled modules, which are good for the copies too: no command has to compile the project again.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", "var", "build", "staticfiles", ".*_cache", ".hypothesis"
)


class Clone:
    """The project's files in a folder of their own, with the environment of these tests as its `.venv`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pausepoint"
        shutil.copytree(ROOT, self.path, ignore=LEFT_OUT)
        environment = self.path / ".venv"
        environment.mkdir()
        for entry in Path(sys.prefix).iterdir():
            if not entry.name.startswith("ready"):
                (environment / entry.name).symlink_to(entry)
        # Newer than the requirements, so that make installs nothing.
        (environment / "ready").touch()
        # Any answer but 2xx is a failure.
        (folder / ".curlrc").write_text("fail\nsilent\nshow-error\n")
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.bare = kept | {"CURL_HOME": str(folder)}

    def start(self, command: str, **more: str) -> subprocess.Popen[str]:
        """Start a shell command in a process group of its own."""
        pipe = subprocess.PIPE
        shell = ["sh", "-c", f"exec 2>&1\nset -e\n{command}"]
        env = self.bare | more
        return subprocess.Popen(
            shell, cwd=self.path, env=env, stdin=subprocess.DEVNULL, stdout=pipe, text=True, start_new_session=True
        )

    def run(self, command: str, **more: str) -> str:
        """Return the output of a command, which must succeed."""
        process = self.start(command, **more)
        printed, _ = process.communicate(timeout=2 * PATIENCE)
        assert process.returncode == 0, f"{command}\n-> {process.returncode}\n{printed}"
        return printed

    @contextlib.contextmanager
    def running(self, command: str, words: str, **more: str) -> Iterator[str]:
        """Run an endless command until it has printed these words; give its output so far."""
        log = self.path.parent / f"running-{os.urandom(4).hex()}.log"
        process = self.start(f"exec >{log}\n{command}", **more)

        def printed() -> str:
            text = log.read_text() if log.exists() else ""
            assert words in text or process.poll() is None, f"{command}\nended:\n{text}"
            return text if words in text else ""

        try:
            yield until(printed, f"{command!r} prints {words!r}", 2 * PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
