"""Databases for real servers with the demo's people and conversations, on SQLite or PostgreSQL."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import psycopg

from tests.support.processes import starting
from tests.support.processes.postgres import started

#: Seconds, for a migration on a machine that has other things to do.
PATIENCE = 600.0
PREPARE = """
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("seed_demo")
"""


def rows_of(url: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a statement gives on the database at this URL, as `Database.rows` says."""
    if url.startswith("sqlite:///"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)) as file, file:
            return file.execute(sql, values).fetchall()
    statement = sql.replace("%", "%%").replace("?", "%s")
    with psycopg.connect(url) as connection:
        # The placeholders are ours, and so is all the SQL of the tests.
        cursor = connection.execute(statement.encode(), values)
        found = cursor.fetchall() if cursor.description else []
    return [tuple(value.hex if isinstance(value, UUID) else value for value in row) for row in found]


class Database(Protocol):
    """What a server runs on."""

    @property
    def url(self) -> str: ...

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives; values stand where it says `?`. UUIDs come as 32 hexadecimal digits."""

    def drop(self) -> None: ...


class File:
    """SQLite's: a copy of the seeded one, or none yet, which the server has to migrate."""

    def __init__(self, path: Path, *, seeded: bool = True) -> None:
        self.path = path
        if seeded:
            shutil.copy(_seeded_file(), path)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return rows_of(self.url, sql, *values)

    def drop(self) -> None:
        """It goes with its folder."""


class Clone:
    """PostgreSQL's: a clone of the seeded one, in the cluster of this test run."""

    def __init__(self) -> None:
        self.name = f"served_{uuid4().hex}"
        _as_superuser(f"CREATE DATABASE {self.name} TEMPLATE {_seeded_database()}")

    @property
    def url(self) -> str:
        return started().url(self.name)

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return rows_of(self.url, sql, *values)

    def drop(self) -> None:
        _as_superuser(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")


def make(kind: str, path: Path) -> Database:
    """A new database: "sqlite", in the file `path`, "postgresql", or "none": the file is missing."""
    return {"sqlite": lambda: File(path), "postgresql": Clone, "none": lambda: File(path, seeded=False)}[kind]()


def prepare(url: str) -> None:
    """Migrate the database and fill it with the demo, in a process of its own."""
    settings = {"DEBUG": "1", "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "hitlsite.settings"}
    done = starting.run(["-c", PREPARE], env=os.environ | settings, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


@functools.cache
def _seeded_file() -> Path:
    """Made once and copied for every server."""
    folder = tempfile.mkdtemp(prefix="pausepoint-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    prepare(f"sqlite:///{folder}/seeded.sqlite3")
    return Path(folder) / "seeded.sqlite3"


@functools.cache
def _seeded_database() -> str:
    """Made once and cloned for every server."""
    _as_superuser("CREATE DATABASE seeded")
    prepare(started().url("seeded"))
    # A database can be cloned only while nobody is connected to it.
    _as_superuser("ALTER DATABASE seeded ALLOW_CONNECTIONS false")
    return "seeded"


def _as_superuser(statement: str) -> None:
    with psycopg.connect(started().url(), autocommit=True) as connection:
        connection.execute(statement.encode())
