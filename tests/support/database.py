"""The database of the tests: migrated once, and put back as it was after each test that commits.

On SQLite a migrated file is kept below `var/` and used again until a migration, a trigger or Django changes, so that one
test starts in two seconds; tests work on a copy of it in memory (tmpfs). Django would empty every table with its own
flush and make all permissions anew, which takes a hundred times as long.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path

import django
import django.test
import procrastinate
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections, transaction

from tests.support.processes.shared import database_with
from tests.support.root import ROOT

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
A_DAY = 24 * 60 * 60
#: The files that determine the schema of a migrated database.
SOURCES = (
    "*/migrations/*.py",
    "approvals/db/append_only.py",
    "*/apps.py",
    "hitlsite/settings.py",
    "tests/support/database.py",
)


@contextmanager
def prepared() -> Iterator[None]:
    """Connect Django to a migrated database of this process's own, which goes with the block."""
    make = {"sqlite": _sqlite, "postgresql": _postgresql}[connection.vendor]
    with make() as restore:
        # The base of Django's tests that commit: it calls this to empty the tables.
        django.test.TransactionTestCase._fixture_teardown = lambda _: restore()  # type: ignore[method-assign]
        yield


@contextmanager
def _sqlite() -> Iterator[Callable[[], None]]:
    folder = Path(tempfile.mkdtemp(prefix="pausepoint-tests-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    migrated, own = _migrated_file(), folder / "test.sqlite3"
    shutil.copy(migrated, own)
    _connect_to(own)

    def restore() -> None:
        with closing(sqlite3.connect(f"file:{migrated}?mode=ro&immutable=1", uri=True)) as source:
            connection.ensure_connection()
            source.backup(connection.connection)

    try:
        yield restore
    finally:
        connections.close_all()
        shutil.rmtree(folder, ignore_errors=True)


def _connect_to(name: Path | str) -> None:
    connections.close_all()
    connection.settings_dict["NAME"] = str(name)


def _migrated_file() -> Path:
    """The path of a migrated database; made by the first process that asks."""
    digest = hashlib.sha256(f"{django.__version__} {procrastinate.__version__}".encode())
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    folder = ROOT / "var" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    found = folder / f"{digest.hexdigest()[:16]}.sqlite3"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            # Another run, with another Django or another branch, may be using a younger one.
            for old in folder.glob("*.sqlite3"):
                if old.stat().st_mtime < time.time() - A_DAY:
                    old.unlink()
            unfinished = found.with_suffix(".unfinished")
            unfinished.unlink(missing_ok=True)
            _connect_to(unfinished)
            call_command("migrate", verbosity=0, run_syncdb=True)
            connections.close_all()
            unfinished.rename(found)
        found.touch()
    return found


@contextmanager
def _postgresql() -> Iterator[Callable[[], None]]:
    # As fast as copying a file: what the migrations make is made once, by the first process that asks.
    name = f"tests_{os.getpid()}"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {database_with('tests', '')}")
    connection.close_pool()
    _connect_to(name)
    tables = [name for name in connection.introspection.table_names() if name != "django_migrations"]
    # Permissions, content types and groups come with the migrations and stay.
    ours = {table: _highest_id(table) for table in _filled(tables)}

    def restore() -> None:
        with connection.cursor() as cursor:
            filled = _filled(tables)
            # Off for this connection alone: the triggers of append-only tables, and the order in which rows may go.
            cursor.execute("SET session_replication_role = replica")
            for table in filled:
                cursor.execute(f'DELETE FROM "{table}" WHERE {_newer(table, ours)}')
            cursor.execute("SET session_replication_role = DEFAULT")

    try:
        yield restore
    finally:
        connections.close_all()


def _filled(tables: list[str]) -> list[str]:
    """The tables with rows in them, found in one statement."""
    looks = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(looks)
        return [table for (table,) in cursor.fetchall()]


def _highest_id(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT MAX(id) FROM "{table}"')
        ((highest,),) = cursor.fetchall()
        return int(highest)


def _newer(table: str, ours: dict[str, int]) -> str:
    return f"id > {ours[table]}" if table in ours else "true"


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """In place of pytest-django's own."""
    # Some addresses depend on settings, and are made once: not by the first test that happens to use one.
    import_module(settings.ROOT_URLCONF)
    with django_db_blocker.unblock(), prepared():  # type: ignore[attr-defined]
        yield


class PowerCut(Exception):
    """Ends a transaction that must not be committed."""


@contextmanager
def rolled_back() -> Iterator[None]:
    """A transaction that is rolled back at its end."""
    with suppress(PowerCut), transaction.atomic():
        yield
        raise PowerCut
