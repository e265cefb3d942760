"""Made once per test run, for all its processes: migrated databases with people, and one PostgreSQL."""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg

from tests.support.processes import postgres, starting
from tests.support.processes.postgres import Cluster

_kept: list[Cluster] = []
#: Names the folder of this run to its processes.
RUN = "PAUSEPOINT_TEST_RUN"
#: Seconds, for a migration on a machine that has other things to do.
PATIENCE = 600.0
SCRIPT = """
import django; django.setup()
from django.core.management import call_command
"""
MIGRATE = """
call_command("migrate", verbosity=0)
"""
PEOPLE = """
from hitlsite.demo.people import PEOPLE, make_person
for each in PEOPLE:
    make_person(each.username, each.role, each.staff)
"""
#: People, conversations and requests.
DEMO = """
call_command("seed_demo", stdout=open("/dev/null", "w"))
"""


def run_folder() -> Path:
    """Return the folder of this run. The process that makes it, from which all others inherit its name, removes it."""
    if RUN not in os.environ:
        os.environ[RUN] = tempfile.mkdtemp(prefix="pausepoint-run-")
        atexit.register(_remove, Path(os.environ[RUN]))
    return Path(os.environ[RUN])


def _remove(folder: Path) -> None:
    if (folder / "postgresql").exists():
        cluster().remove()
    shutil.rmtree(folder, ignore_errors=True)


def once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a file of this run, which `make` writes for the first process that asks."""
    found = run_folder() / name
    with (run_folder() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            unfinished = run_folder() / f"{name}.unfinished"
            make(unfinished)
            unfinished.rename(found)
    return found


@functools.cache
def cluster() -> Cluster:
    """Return the PostgreSQL of this run. NotFound."""

    def start(address: Path) -> None:
        started = Cluster()
        started.start()
        # Until this process ends, or Python would complain of a process that still runs.
        _kept.append(started)
        address.write_text(f"{started.port} {started.folder}")

    port, folder = once("postgresql", start).read_text().split()
    return Cluster(Path(folder), int(port))


def migrated_file() -> Path:
    """Return a migrated database of SQLite."""
    return once("migrated.sqlite3", lambda path: _fill(f"sqlite:///{path}", MIGRATE))


def file_with(name: str, script: str) -> Path:
    """Return a migrated database of SQLite in which `script` has run."""

    def make(path: Path) -> None:
        shutil.copy(migrated_file(), path)
        _fill(f"sqlite:///{path}", script)

    return once(f"{name}.sqlite3", make)


def database_with(name: str, script: str) -> str:
    """Return the name of such a database in the PostgreSQL of this run, to be copied; it allows no connections."""

    def make(mark: Path) -> None:
        _execute(f"CREATE DATABASE {name}")
        _fill(cluster().url(name), MIGRATE + script)
        postgres.dump(cluster().url(name), run_folder() / f"{name}.sql")
        # A database can be copied only while it has no connections.
        _execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        mark.touch()

    once(f"{name}.postgresql", make)
    return name


def dump_with(name: str, script: str) -> Path:
    """Return such a database as SQL, for another PostgreSQL."""
    return run_folder() / f"{database_with(name, script)}.sql"


def _fill(url: str, script: str) -> None:
    settings = {"DEBUG": "1", "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "hitlsite.settings"}
    done = starting.run(["-c", SCRIPT + script + starting.LEAVE], env=os.environ | settings, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    if url.startswith("sqlite:///"):
        # A program that ends with an open connection leaves its writes in the WAL, and only the file is copied.
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _execute(statement: str) -> None:
    with psycopg.connect(cluster().url(), autocommit=True) as connection:
        connection.execute(statement.encode())
