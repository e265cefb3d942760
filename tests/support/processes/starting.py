"""Start Python programs of the project in half the time: forked from a process that has imported their libraries.

Arguments and results are those of `subprocess.Popen` and `subprocess.run`. Tests of commands that start Pausepoint for
real (the commands on the pages of the documentation, the demo, Docker's commands) use `subprocess` itself.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.support.processes import warm
from tests.support.root import ROOT

#: Sets Django up, and imports the pages if it is told to.
SET_UP = """
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitlsite.settings")
import django; django.setup()
"""
PAGES = """
import importlib
import hitlsite.asgi
importlib.import_module(django.conf.settings.ROOT_URLCONF)
"""
#: Forks as ordered over its input.
FORK = """
from tests.support.processes.warm import fork_and_run
fork_and_run(0)
"""
#: Ends a script, in a seventh of the time. `warm.py` is the main module of all programs that it forks.
LEAVE = """
from __main__ import leave
leave()
"""
_orders = threading.Lock()


class Process:
    """A started program, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, words: Sequence[str], report: socket.socket) -> None:
        self.args, self.returncode = list(words), None
        self._report = report
        (self.pid,) = warm.LENGTH.unpack(self._report.recv(warm.LENGTH.size, socket.MSG_WAITALL))

    returncode: int | None

    def poll(self) -> int | None:
        """Return the exit code (negative: the signal that ended it), or None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; TimeoutExpired after so many seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], seconds)[0]:
            (self.returncode,) = struct.unpack("!i", self._report.recv(4, socket.MSG_WAITALL))
            self._report.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    folder: Path = ROOT,
    stdin: int | IO[bytes] | socket.socket | None = None,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    forker: socket.socket | None = None,
) -> Process:
    """Start `python WORDS` with this environment: a script, `-m MODULE` or `-c CODE`, and arguments.

    Without input, unless it is given. It is forked by the process at the other end of `forker`; by that of this test
    process, which knows the libraries alone, where none is given.
    """
    order = json.dumps({"words": [*words], "environment": dict(env), "folder": str(folder)}).encode()
    report, theirs = socket.socketpair()
    to = forker or _forker()
    with theirs, open(os.devnull, "rb") as nothing, _orders:
        given = (nothing if stdin is None else stdin, stdout, stderr, theirs)
        files = [one if isinstance(one, int) else one.fileno() for one in given]
        socket.send_fds(to, [warm.LENGTH.pack(len(order))], files)
        to.sendall(order)
    return Process(words, report)


def run(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    folder: Path = ROOT,
    timeout: float,
    forker: socket.socket | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python WORDS` to its end; return its exit code and its output as text."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = start(words, env=env, folder=folder, stdout=out, stderr=errors, forker=forker)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(process.args, code, out.read().decode(), errors.read().decode())


class SetUp:
    """Starts programs, each in a process of its own, forked from one in which Django is set up in this environment already."""

    def __init__(self, env: Mapping[str, str], log: Path, *, pages: bool = True) -> None:
        """Without `pages`, programs may still change what the pages take over when they are imported."""
        self.env = dict(env)
        self._control, theirs = socket.socketpair()
        script = SET_UP + (PAGES if pages else "") + FORK
        with theirs, log.open("ab") as written:
            self._process = start(["-c", script], env=env, stdin=theirs, stdout=written, stderr=written)

    def start(self, words: Sequence[str], log: IO[bytes], **more: str) -> Process:
        """Start a program whose environment has `more` in it."""
        return start(words, env=self.env | more, stdout=log, stderr=log, forker=self._control)

    def run(self, script: str, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run a script to its end."""
        return run(["-c", script + LEAVE], env=self.env, timeout=timeout, forker=self._control)

    def end(self) -> None:
        self._control.close()
        self._process.wait()


def set_up_for(env: Mapping[str, str], known: SetUp | None, log: Path, *, pages: bool = True) -> SetUp:
    """Return `known` if it has this environment; otherwise end it and return a new one."""
    if known is not None and known.env == env:
        return known
    if known is not None:
        known.end()
    return SetUp(env, log, pages=pages)


def forks_after(python: str, *libraries: str, **environment: str) -> socket.socket:
    """Start a process of this Python that imports these libraries, or the project's; return the socket that takes its orders."""
    ours, theirs = socket.socketpair()
    with theirs:
        # Without the folder of the script on its path (-P), and so without a module of the project.
        command = [python, "-P", str(Path(warm.__file__)), str(theirs.fileno()), *libraries]
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, pass_fds=[theirs.fileno()])
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


@functools.cache
def _forker() -> socket.socket:
    """The process that forks, of this test process."""
    return forks_after(sys.executable)
