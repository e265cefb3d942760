"""A shop's till: a real server on a database of its own, that is started again whenever it is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.proofs.crash.agents import CHARGES, HEARD, LEASE, RELEASE
from tests.proofs.crash.browser import Browser
from tests.proofs.crash.points import CONTROL
from tests.support.processes.ports import free_port
from tests.support.processes.starting import Process, SetUp

PATIENCE = 120.0


class Till:
    """A server on a database of its own that is started again whenever it is gone."""

    def __init__(self, folder: Path, lease: str = "") -> None:
        self.database, self.control = folder / "till.sqlite3", folder / "armed"
        self.charges, self.heard, self.log = folder / "charges", folder / "heard", folder / "log"
        self.release = folder / "release"
        self.port = free_port()
        self.environment = settings(self.database) | {
            CONTROL: str(self.control),
            CHARGES: str(self.charges),
            HEARD: str(self.heard),
            RELEASE: str(self.release),
            LEASE: lease,
        }
        self.process: Process | None = None
        self.forks: SetUp | None = None
        self.kills = 0
        self.base = f"http://127.0.0.1:{self.port}"
        self.alice, self.bob = (Browser(self.base, name, "pausepoint") for name in ("requester", "approver"))

    def up(self) -> None:
        """Start the server if it is gone, and wait until it answers."""
        for _ in patiently("the server"):
            if self.process is None or self.process.poll() is not None:
                self.kills += self.process is not None and self.process.returncode == -signal.SIGKILL
                self.forks = self.forks or SetUp(self.environment, self.log)
                with self.log.open("ab") as log:
                    self.process = self.forks.start(["-m", "tests.proofs.crash.launcher", str(self.port)], log)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return

    def end(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(PATIENCE)
        if self.forks is not None:
            self.forks.end()

    def rows(self, sql: str, *values: Any) -> list[Any]:
        with contextlib.closing(sqlite3.connect(self.database, timeout=20)) as connection:
            return connection.execute(sql, values).fetchall()

    def lines(self, file: Path) -> list[str]:
        return file.read_text().splitlines() if file.exists() else []


def settings(database: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
    return kept | {
        "DEBUG": "1",
        "DATABASE_URL": f"sqlite:///{database}",
        "HITL_AGENTS": "tests.proofs.crash.agents.cashier,tests.proofs.crash.agents.manager",
        "HITL_EVENT_HANDLERS": "tests.proofs.crash.agents.hear",
        CONTROL: str(database.parent / "armed"),
    }


def patiently(what: str) -> Iterator[None]:
    """Look again and again, for PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        yield
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE:.0f} s for {what}")


def open_requests(till: Till, chat: int) -> list[Any]:
    """Return the pending requests of a chat and of its sub-agents."""
    sql = "SELECT id, kind FROM approvals_approvalrequest WHERE scope = ? AND status = 'pending'"
    found = till.rows(sql, f"chat:{chat}")
    return [(UUID(request), kind) for request, kind in found]
