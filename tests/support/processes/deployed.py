"""Pausepoint as it is deployed, without Docker: the commands of compose.yaml as processes, on a real database."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import psycopg

from tests.support.processes import postgres, shared, starting
from tests.support.processes.databases import rows_of
from tests.support.processes.ports import free_port
from tests.support.processes.server import PATIENCE, Person, until
from tests.support.processes.shared import PEOPLE
from tests.support.processes.starting import Process, SetUp, set_up_for
from tests.support.root import ROOT
from tests.support.services import missing

#: No letter of it comes from the environment of the tests.
KEPT = ("PATH", "HOME", "LANG", "VIRTUAL_ENV")


def new_cluster() -> postgres.Cluster:
    """A PostgreSQL that may be stopped, not started yet; skipped aloud, or failed, where there is none."""
    try:
        return postgres.Cluster()
    except postgres.NotFound as error:
        missing(str(error), "apt-get install postgresql.")


def new_database() -> str:
    """The URL of a new, empty database on the one PostgreSQL of this run; skipped aloud, or failed, without."""
    try:
        cluster = shared.cluster()
    except postgres.NotFound as error:
        missing(str(error), "apt-get install postgresql.")
    name = f"site_{uuid4().hex}"
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return cluster.url(name)


class Site:
    """One installation: a folder with the project, its environment, and the processes that run in it."""

    def __init__(self, logs: Path, *, project: Path = ROOT, **settings: str) -> None:
        self.logs, self.project = logs, project
        defaults = {
            "SECRET_KEY": "0123456789abcdef" * 4,
            "DEBUG": "1",
            "HITL_PROVIDER": "scripted",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ} | defaults | settings
        self.processes: list[Process] = []
        self._set_up: SetUp | None = None
        self.port = 0
        self.ports: list[int] = []

    @property
    def _database(self) -> str:
        """The URL of the database without the options of the pool."""
        return self.env["DATABASE_URL"].partition("?")[0]

    def manage(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return self._python("manage.py", *words, check=check)

    def set_up(self) -> None:
        """Fill this site's new database with the tables and the demo's people, by copying a prepared one."""
        if self._database.startswith("sqlite:///"):
            shutil.copy(shared.file_with("people", PEOPLE), self._database.removeprefix("sqlite:///"))
            return
        server, _, name = self._database.rpartition("/")
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name}".encode())
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {database_with_people(server)}".encode())

    def run(self, script: str) -> str:
        """Run Python with the site's settings; return its output."""
        if self.project == ROOT:
            done = self._forks.run(script, 5 * PATIENCE)
            assert done.returncode == 0, done.stderr
            return done.stdout
        start = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'hitlsite.settings'; import django; django.setup()\n"
        return self._python("-c", start + script + starting.LEAVE, check=True).stdout

    def _python(self, *words: str, check: bool) -> subprocess.CompletedProcess[str]:
        done = starting.run(words, env=self.env, folder=self.project, timeout=5 * PATIENCE)
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done

    def start(self, *words: str) -> Process:
        """Start a command that goes on."""
        return self.start_program("manage.py", *words)

    def start_program(self, *words: str) -> Process:
        """Start any Python program that goes on, in this environment."""
        with (self.logs / f"{len(self.processes)}-{words[1]}.log").open("wb") as log:
            process = self._start(words, log)
        self.processes.append(process)
        return process

    def _start(self, words: Sequence[str], log: IO[bytes]) -> Process:
        """Start a program where Django is set up already, unless it runs in a project of its own."""
        if self.project != ROOT:
            return starting.start(words, env=self.env, folder=self.project, stdout=log, stderr=log)
        return self._forks.start(words, log)

    @property
    def _forks(self) -> SetUp:
        """The process that starts servers, workers and scripts with these settings."""
        self._set_up = set_up_for(self.env, self._set_up, self.logs / "set-up.log")
        return self._set_up

    def serve(self) -> int:
        """Start a web process; gives its port when it listens."""
        port = free_port()
        process = self.start("serve", "--port", str(port))

        def listens() -> bool:
            assert process.poll() is None, self.said()
            return self.ask("/healthz", port=port)[0] == 200

        until(listens, "the web process answers")
        self.port = self.port or port
        self.ports.append(port)
        return port

    def work(self) -> None:
        """Start a worker, where turns run in workers."""
        if self.env.get("DATABASE_URL", "").startswith("postgres"):
            self.start("worker")

    def ask(self, path: str, *, port: int = 0, **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers and body of a GET; 0 if no server listens."""
        try:
            with closing(HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)) as line:
                line.request("GET", path, headers=headers)
                answer = line.getresponse()
                found = {name.lower(): value for name, value in answer.getheaders()}
                return answer.status, found, answer.read().decode("utf-8", "replace")
        except OSError:
            return 0, {}, ""

    def ready(self, *, port: int = 0) -> tuple[int, list[str]]:
        """The answer of `/readyz`: its status and its errors."""
        status, _, body = self.ask("/readyz", port=port)
        return status, json.loads(body)["wrong"] if body else []

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, without a process of its own; values replace each `?`."""
        return rows_of(self._database, sql, *values)

    def turn(self, chat: int) -> str:
        last = "SELECT state FROM chats_turn WHERE chat_id = ? ORDER BY id DESC LIMIT 1"
        ((state,),) = rows_of(self._database, last, chat)
        return str(state)

    def wait_for_turn(self, chat: int, state: str) -> None:
        until(lambda: self.turn(chat) == state, f"chat {chat} is {state}")

    def person(self, name: str) -> Person:
        person = Person(self, name)  # type: ignore[arg-type]
        person.log_in()
        return person

    def said(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.logs.glob("*.log")))

    def stop(self) -> list[int]:
        """SIGTERM for all that runs, and their exit codes."""
        for process in self.processes:
            process.terminate()
        codes = [process.wait(PATIENCE) for process in self.processes]
        self.processes = []
        return codes

    def kill(self) -> list[int]:
        """SIGKILL for all that runs, and their exit codes."""
        for process in self.processes:
            process.kill()
        codes = [process.wait(PATIENCE) for process in self.processes]
        self.processes = []
        return codes

    def end(self) -> None:
        """Kill all that runs, and the process that started it."""
        self.kill()
        if self._set_up is not None:
            self._set_up.end()


@functools.cache
def database_with_people(server: str) -> str:
    """Return the name of a migrated database with the demo's people on this server, to be copied for every site."""
    if shared.cluster().url("") == f"{server}/":
        return shared.database_with("people", PEOPLE)
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(b"CREATE DATABASE people")
    postgres.load(shared.dump_with("people", PEOPLE), f"{server}/people")
    return "people"


@contextmanager
def site(logs: Path, **settings: Any) -> Iterator[Site]:
    """A site whose processes end with the block."""
    found = Site(logs, **settings)
    try:
        yield found
    finally:
        found.end()
