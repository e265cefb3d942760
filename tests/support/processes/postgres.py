"""A real PostgreSQL for tests, with a data directory that is removed at the end of the process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.processes.ports import free_port

PLACES = "usr/lib/postgresql/*/bin"
NOBODY = 65534
#: Seconds for something that takes one on an idle machine.
PATIENCE = 120.0


class NotFound(Exception):
    """No PostgreSQL to start."""


class Cluster:
    """Starts, stops, dies and starts again on the same directory and port."""

    def __init__(self, folder: Path | None = None, port: int = 0) -> None:
        """Make a new server, or use the one that another process has started in `folder`, on `port`."""
        self.binaries = find_binaries()
        self.process: subprocess.Popen[bytes] | None = None
        if folder is not None:
            self.folder, self.port = folder, port
            return
        # Not below a temp folder that only root may enter: if the tests run as root, the server runs as nobody.
        self.folder = Path(tempfile.mkdtemp(prefix="pausepoint-pg-", dir="/tmp"))
        self.port = free_port()
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self, **settings: str) -> None:
        """Returns when it takes connections; `settings` are the server's own (`fsync="on"`)."""
        options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "full_page_writes": "off",
            # Compiling a statement takes longer than any statement on the few rows of a test, and there is nothing to clean up.
            "jit": "off",
            "autovacuum": "off",
            "max_connections": "500",
            **settings,
        }
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        command = [str(self.binaries / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), *words]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd="/", user=self._user(), group=self._user()
            )
        deadline = time.monotonic() + PATIENCE
        while not self._ready():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop at once, like a crash; committed data survives."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(PATIENCE)

    def remove(self) -> None:
        """Stop it, also if another process has started it, and remove its directory."""
        if self.process is None:
            self._run("pg_ctl", "stop", "-D", str(self.folder / "data"), "-m", "immediate", "-w")
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ready(self) -> bool:
        command = [str(self.binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [str(self.binaries / program), *words],
            cwd="/",
            user=self._user(),
            group=self._user(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def _user(self) -> int | None:
        """PostgreSQL will not run as root."""
        return NOBODY if os.geteuid() == 0 else None


def find_binaries() -> Path:
    """The newest PostgreSQL on this machine; PG_BIN names another. NotFound."""
    named = os.environ.get("PG_BIN")
    found = [Path(named)] if named else sorted(Path("/").glob(PLACES), key=lambda path: int(path.parent.name))
    if not found or not (found[-1] / "initdb").exists():
        raise NotFound("no PostgreSQL (looked in PG_BIN and /usr/lib/postgresql)")
    return found[-1]


def dump(url: str, path: Path) -> None:
    """Write a database as SQL."""
    subprocess.run([str(find_binaries() / "pg_dump"), "--no-owner", "-f", str(path), url], check=True)


def load(path: Path, url: str) -> None:
    """Fill a new database from the output of `dump`."""
    words = ["--quiet", "--no-psqlrc", "--single-transaction", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null"]
    subprocess.run([str(find_binaries() / "psql"), *words, "-f", str(path), url], check=True)
