"""Databases for real servers with the demo's people and conversations, on SQLite or PostgreSQL."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID, uuid4

import psycopg

from tests.support.processes.shared import DEMO, cluster, database_with, file_with


def rows_of(url: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement on the database at this URL, like `Database.rows`."""
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
    """The database of a server."""

    @property
    def url(self) -> str: ...

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement; values replace each `?`. UUIDs come as 32 hexadecimal digits."""

    def drop(self) -> None: ...


class File:
    """SQLite's: a copy of the seeded one, or none yet, which the server has to migrate."""

    def __init__(self, path: Path, *, seeded: bool = True) -> None:
        self.path = path
        if seeded:
            shutil.copy(file_with("demo", DEMO), path)

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
        _as_superuser(f"CREATE DATABASE {self.name} TEMPLATE {database_with('demo', DEMO)}")

    @property
    def url(self) -> str:
        return cluster().url(self.name)

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return rows_of(self.url, sql, *values)

    def drop(self) -> None:
        _as_superuser(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")


def make(kind: str, path: Path) -> Database:
    """A new database: "sqlite", in the file `path`, "postgresql", or "none": the file is missing."""
    return {"sqlite": lambda: File(path), "postgresql": Clone, "none": lambda: File(path, seeded=False)}[kind]()


def _as_superuser(statement: str) -> None:
    with psycopg.connect(cluster().url(), autocommit=True) as connection:
        connection.execute(statement.encode())
