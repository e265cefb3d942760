"""A real Redis for tests on a free port, stopped at the end of the process."""

from __future__ import annotations

import atexit
import functools
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tests.support.processes.ports import free_port
from tests.support.services import missing

#: Seconds for something that takes one on an idle machine.
PATIENCE = 120.0


class RedisServer:
    """Starts, stops and starts again on the same port, with nothing kept between."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.folder = Path(tempfile.mkdtemp(prefix="pausepoint-redis-"))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Returns when it answers."""
        options = {"--port": str(self.port), "--bind": "127.0.0.1", "--save": "", "--appendonly": "no"}
        words = [word for pair in options.items() for word in pair]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([self.program, *words], cwd=self.folder, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """At once, as a crash would."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as line:
                line.sendall(b"PING\r\n")
                return line.recv(100) == b"+PONG\r\n"
        except OSError:
            return False


@functools.cache
def started() -> RedisServer:
    """The one Redis of this test run; skipped aloud, or failed, where there is none to start."""
    program = shutil.which("redis-server")
    if program is None:
        missing("no redis-server", "apt-get install redis-server.")
    server = RedisServer(program)
    atexit.register(server.remove)
    server.start()
    return server
