"""A desk on PostgreSQL with a web process and two workers, which are killed one after the other and started again."""

from __future__ import annotations

import functools
import signal
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg

from tests.proofs.crash.agents import CHARGES, HEARD, RELEASE
from tests.proofs.crash.points import CONTROL
from tests.support.processes.deployed import Site, database_with_people, new_database
from tests.support.processes.ports import free_port
from tests.support.processes.server import MAKE_KEY, PATIENCE, Person, until
from tests.support.processes.starting import Process, SetUp

#: Seconds, for processes that start while many others do.
STARTING = 4 * PATIENCE
AGENTS = "tests.proofs.crash.agents.cashier,tests.proofs.crash.agents.manager,tests.proofs.team.reciter.reciter"


@functools.cache
def shared_server() -> str:
    return new_database().rpartition("/")[0]


def copied_database(server: str = "") -> str:
    """The URL of a database of one's own, on the server of this test run or on this one."""
    server = server or shared_server()
    copy = f"desk_{uuid4().hex}"
    _create(server, f"{copy} TEMPLATE {database_with_people(server)}")
    return f"{server}/{copy}"


def _create(server: str, what: str) -> None:
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {what}")


class At(NamedTuple):
    """Where a person is."""

    port: int


class Desk(Site):
    """Web processes and workers by name (`web`, `web 2`, `worker 1`); each may be killed and comes back when it is asked for."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.control, self.charges, self.heard = folder / "armed", folder / "charges", folder / "heard"
        self.release = folder / "release"
        files = {CONTROL: self.control, CHARGES: self.charges, HEARD: self.heard, RELEASE: self.release}
        given = {"HITL_AGENTS": AGENTS, "HITL_EVENT_HANDLERS": "tests.proofs.crash.agents.hear", "SHORT_LEASE": "3"}
        given |= {name: str(file) for name, file in files.items()}
        super().__init__(folder, **(given | settings))
        self.ports = {"web": free_port(), "web 2": free_port()}
        self.port = self.ports["web"]
        self.running: dict[str, Process] = {}
        self.kills: Counter[str] = Counter()

    def launch(self, name: str) -> None:
        """Start the process of that name; its first word is its kind."""
        words = ["serve", "--port", str(self.ports[name])] if name in self.ports else ["worker"]
        with (self.logs / f"{name}.log").open("ab") as log:
            self.running[name] = self.forks.start(["-m", "tests.proofs.team.launcher", *words], log, **self.env)

    @functools.cached_property
    def forks(self) -> SetUp:
        """The process that starts all others: Django's slow set-up is done once."""
        return SetUp(self.env, self.logs / "set-up.log")

    def tend(self, *names: str) -> None:
        """Start those of these that are gone, and wait until pages are served; each that was killed is counted."""
        for name, process in list(self.running.items()):
            if process.poll() is not None:
                assert process.returncode == -signal.SIGKILL, (name, process.returncode, self.said()[-2000:])
                self.kills[name.split()[0]] += 1
                del self.running[name]
        for name in names:
            if name not in self.running:
                self.launch(name)
        for name in names:
            if name in self.ports:
                until(functools.partial(self._listens, name), f"{name} answers", STARTING)

    def _listens(self, name: str) -> bool:
        # One that was about to die when it was looked at is not there any more.
        return self.ask("/healthz", port=self.ports[name])[0] == 200 or self.running[name].poll() is not None

    def work(self) -> None:
        """Wait until workers are heard of, and everything else is there."""
        until(lambda: self.ready()[0] == 200, "the desk is ready", STARTING)

    def signal(self, name: str, number: signal.Signals) -> None:
        self.running[name].send_signal(number)

    def wait_for(self, name: str) -> int:
        """The exit code of a process that was told to stop."""
        return self.running.pop(name).wait(PATIENCE)

    def at(self, name: str, who: str) -> Person:
        """A person logged in at this web process."""
        person = Person(At(self.ports[name]), who)  # type: ignore[arg-type]
        person.log_in()
        return person

    def key(self, who: str) -> str:
        """A new key that may ask, decide and read."""
        return self.run(MAKE_KEY.format(user=who, name="tests", scopes=("ask", "decide", "read")))

    def run(self, script: str) -> str:
        """Run Python with the desk's settings; return its output."""
        done = self.forks.run(script, STARTING)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; values replace each `%s`."""
        with psycopg.connect(self.env["DATABASE_URL"]) as connection:
            return connection.execute(sql.encode(), values).fetchall()

    def lines(self, file: Path) -> list[str]:
        return file.read_text().splitlines() if file.exists() else []

    def end(self) -> None:
        for process in self.running.values():
            process.kill()  # SIGKILL ends a frozen one too
            process.wait(PATIENCE)
        self.forks.end()
