"""Differences between SQLite and PostgreSQL in tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, models

from tests.support.processes.shared import cluster

REFUSING = {
    "sqlite": ["CREATE TRIGGER refusing BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, '{words}'); END"],
    "postgresql": [
        # Like a constraint, as which SQLite's ABORT is reported.
        """CREATE FUNCTION refusing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION '{words}' USING ERRCODE = 'integrity_constraint_violation'; END $$""",
        "CREATE TRIGGER refusing BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refusing()",
    ],
}
REFUSING_NO_MORE = {
    "sqlite": ["DROP TRIGGER refusing"],
    "postgresql": ["DROP TRIGGER refusing ON {table}", "DROP FUNCTION refusing()"],
}
TRIGGERS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
    "postgresql": """SELECT tgname, pg_get_triggerdef(oid) || pg_get_functiondef(tgfoid)
                     FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname""",
}
DROP_TRIGGER = {"sqlite": "DROP TRIGGER {name}", "postgresql": "DROP TRIGGER {name} ON {table}"}
#: For the statement's own transaction or connection: how long it waits for a lock, in milliseconds.
PATIENCE = {"sqlite": "PRAGMA busy_timeout = {ms}", "postgresql": "SET LOCAL lock_timeout = {ms}"}
#: Another value for a column of each type, as SQL.
OTHER_VALUES = {
    "BigAutoField": "4711",
    "BigIntegerField": "4711",
    "IntegerField": "4711",
    "PositiveIntegerField": "4711",
    "PositiveSmallIntegerField": "11",
    "FloatField": "4711",
    "BooleanField": "NOT COALESCE({column}, FALSE)",
    "CharField": "'changed'",
    "TextField": "'changed'",
    "JSONField": "'[4711]'",
    "UUIDField": "'00000000-0000-4000-8000-000000004711'",
    "DateTimeField": "'2000-01-01 00:00:00+00:00'",
    "ForeignKey": "'00000000-0000-4000-8000-000000004711'",
    "OneToOneField": "'00000000-0000-4000-8000-000000004711'",
}


def run(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


@contextmanager
def refusing_inserts(table: str, words: str) -> Iterator[None]:
    """A database that takes no more rows into a table; it raises as a constraint does, with these words."""
    for statement in REFUSING[connection.vendor]:
        run(statement.format(table=table, words=words))
    try:
        yield
    finally:
        for statement in REFUSING_NO_MORE[connection.vendor]:
            run(statement.format(table=table))


def triggers() -> list[tuple[str, str]]:
    """All triggers of the database, by name, with their SQL."""
    return [(name, text) for name, text in run(TRIGGERS[connection.vendor])]


def drop_trigger(name: str, table: str) -> None:
    run(DROP_TRIGGER[connection.vendor].format(name=name, table=table))


def other_value(field: models.Field[Any, Any]) -> str:
    """SQL for a value of this column's sort that the tests' rows do not have there."""
    return OTHER_VALUES[field.get_internal_type()].format(column=f'"{field.column}"')


def database_url() -> str:
    """The DATABASE_URL by which another process reaches the database of this test run."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{Path(name).resolve()}"
    return cluster().url(name)
