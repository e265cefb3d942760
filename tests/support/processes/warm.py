"""A process that has imported the libraries of the project, and nothing of the project itself, and forks Python programs.

Most of the time that a server or a command needs to start goes into these imports. A program that is forked here has its
own environment, arguments and files, runs from its first line on (`manage.py`, `-m MODULE` or `-c CODE`) and ends as any
other does; only the libraries are there already. `starting.py` starts this process and talks to it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import inspect
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
from typing import Any

#: Modules that are slow to import. None of them reads settings, starts a thread or opens a file; Twisted's reactor would.
LIBRARIES = (
    "annotated_types",
    "asyncio",
    "autobahn.twisted.websocket",
    "autobahn.websocket",
    "channels.layers",
    "channels.routing",
    "confusable_homoglyphs.confusables",
    "croniter",
    "cryptography.hazmat.primitives.ciphers.aead",
    "django.core.cache",
    "django.core.handlers.asgi",
    "django.core.mail",
    "django.core.management",
    "django.core.paginator",
    "django.core.servers.basehttp",
    "django.core.signing",
    "django.core.validators",
    "django.db.backends.sqlite3.base",
    "django.db.migrations.executor",
    "django.db.models",
    "django.forms",
    "django.http",
    "django.template.backends.django",
    "django.template.defaultfilters",
    "django.template.defaulttags",
    "django.template.loader_tags",
    "django.templatetags.i18n",
    "django.templatetags.static",
    "django.test",
    "django.urls",
    "django.utils.log",
    "django.utils.text",
    "django.utils.timezone",
    "django.utils.translation.trans_real",
    "django.views.debug",
    "django.views.generic",
    "httpx",
    "icalendar",
    "jsonschema",
    "markdown_it",
    "nh3",
    "procrastinate",
    "prometheus_client",
    "psycopg",
    "psycopg.types.json",
    "psycopg_pool",
    "pydantic",
    "pydantic.networks",
    "pygments",
    "rapidfuzz.distance",
    "re2",
    "redis",
    "redis.asyncio",
    "rfc8785",
    "segno",
    "standardwebhooks.webhooks",
    "twisted.internet.asyncioreactor",
    "twisted.internet.endpoints",
    "twisted.internet.tcp",
    "twisted.protocols.tls",
    "twisted.web.http",
)
#: The length of an order, before its text.
LENGTH = struct.Struct("!I")


def wait_for_orders(control: socket.socket) -> dict[str, Any]:
    """Fork a program for each order that comes, and report each one's end; return, in the program, with its order."""
    ended, wake = socket.socketpair()
    for end in (ended, wake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    reports: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is ended:
                    ended.recv(4096)
                    report_ended(reports)
                    continue
                order = receive(control)
                if order is None:
                    # The tests are over, or were killed.
                    os._exit(0)
                words, files, report = order
                pid = os.fork()
                if pid:
                    reports[pid] = report
                    report.sendall(LENGTH.pack(pid))
                    for file in files:
                        os.close(file)
                    continue
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for end in (control, ended, wake, report, *reports.values()):
                    end.close()
                for number, file in enumerate(files):
                    os.dup2(file, number)
                    os.close(file)
                return words


def receive(control: socket.socket) -> tuple[dict[str, Any], list[int], socket.socket] | None:
    """Return an order, its stdin, stdout and stderr, and the socket to report its end to; None at the end of the orders."""
    head, files, _, _ = socket.recv_fds(control, LENGTH.size, 4)
    if not head:
        return None
    left, text = LENGTH.unpack(head)[0], b""
    while len(text) < left:
        text += control.recv(left - len(text))
    return json.loads(text), files[:3], socket.socket(fileno=files[3])


def report_ended(reports: dict[int, socket.socket]) -> None:
    """Report the exit code of each program that has ended, as `subprocess` gives it."""
    while reports:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with reports.pop(pid) as report:
            code = os.waitstatus_to_exitcode(status)
            try:
                report.sendall(struct.pack("!i", code))
            except BrokenPipeError:
                # The process that started it has gone.
                continue


def run(order: dict[str, Any]) -> None:
    """Run the program of an order, as `python` with these words would."""
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    first, *others = order["words"]
    # As Python does it: the folder that it was started in, or for a script that of the script, which is the same here.
    sys.path.insert(0, order["folder"])
    if first == "-m":
        sys.argv = others
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *others[1:]]
        exec(compile(others[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as `python -c` does
    else:
        sys.argv = [first, *others]
        runpy.run_path(first, run_name="__main__")


def hash_passwords_fast() -> None:
    """Let a log-in cost as much as any other page: a million rounds of a hash show nothing."""
    hashers = importlib.import_module("django.contrib.auth.hashers")
    hashers.PBKDF2PasswordHasher.iterations = 1


def leave() -> None:
    """End this process as Python does, but without freeing each object first, for which it would copy all shared pages."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def fork_and_run(control: int) -> None:
    """Fork programs as ordered over this socket; returns in each of them when it has ended."""
    # Existing objects are never garbage, so collecting garbage copies none of their pages.
    gc.collect()
    gc.freeze()
    run(wait_for_orders(socket.socket(fileno=control)))


if __name__ == "__main__":
    for library in sys.argv[2:] or LIBRARIES:
        importlib.import_module(library)
    if not sys.argv[2:]:
        hash_passwords_fast()
    # Which files these modules come from: pydantic asks that for each of its models, and finding it out takes long.
    inspect.getmodule(inspect.currentframe())
    fork_and_run(int(sys.argv[1]))
