"""Append-only tables: database triggers refuse UPDATE and DELETE, on SQLite and on PostgreSQL.

SQLite drops the triggers of a table when a migration rebuilds it, so they are created again after every `migrate`, and a
system check reports missing ones. Only `maintenance()`, for retention and test teardown, may change these rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)

SWITCH = "pausepoint_maintenance"
REFUSAL = "is append-only: rows are never changed or deleted"

_protected: dict[str, tuple[type[models.Model], frozenset[str]]] = {}


def protect(
    model: type[models.Model], *, may_change: frozenset[str] = frozenset()
) -> None:
    """Declare a model append-only except for the columns in `may_change`."""
    _protected[model._meta.db_table] = (model, may_change)


def create_triggers(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers of every protected table that exists; safe to repeat."""
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {SWITCH} (reason varchar(200) NOT NULL)"
        )
        for table, (model, may_change) in _protected.items():
            if table in existing:
                columns = [str(field.column) for field in model._meta.concrete_fields]
                frozen = [column for column in columns if column not in may_change]
                for statement in _statements(connection.vendor, table, frozen):
                    cursor.execute(statement)
    if reasons := find_switch_rows(connection):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {SWITCH}")
        logger.error(
            "Removed %d row(s) left in %s (%s): until now protected rows could be changed. Run `manage.py audit check`.",
            len(reasons),
            SWITCH,
            "; ".join(reasons)[:200],
        )


def find_switch_rows(connection: Any) -> list[str]:
    """Return the reasons in the switch table. `maintenance()` never commits a row; any visible row disables all triggers."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT reason FROM {SWITCH} LIMIT 10")
        return [str(row[0]) for row in cursor.fetchall()]


def switch_warning() -> str:
    """Return the warning of `manage.py check` and `/readyz` about a row in the switch table."""
    return _(
        "A row in %(table)s turns off all append-only triggers, so protected rows can be changed"
    ) % {"table": SWITCH}


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Return the names of missing or disabled triggers of existing tables."""
    query = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')",
    }[connection.vendor]
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        cursor.execute(query)
        present = {row[0] for row in cursor.fetchall()}
    wanted = [
        name
        for table in _protected
        if table in existing
        for name in _names(connection.vendor, table)
    ]
    return [name for name in wanted if name not in present]


def is_protected(connection: BaseDatabaseWrapper) -> bool:
    """Return whether no protected row can be changed: every trigger exists and is enabled."""
    return not find_switch_rows(connection) and not missing_triggers(connection)


@contextmanager
def maintenance(connection: Any, reason: str) -> Iterator[None]:
    """Let this transaction, and no other, change append-only rows.

    The switch is a row that is never committed: other connections cannot see it, and a crash removes it.
    """
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {SWITCH} (reason) VALUES (%s)", [reason])
        yield
        cursor.execute(f"DELETE FROM {SWITCH}")


def _names(vendor: str, table: str) -> list[str]:
    names = [f"{table}_no_update", f"{table}_no_delete"]
    # PostgreSQL has a separate trigger for TRUNCATE.
    return names + [f"{table}_no_delete_all"] * (vendor == "postgresql")


def _statements(vendor: str, table: str, frozen: list[str]) -> list[str]:
    no_update, no_delete, *emptied = _names(vendor, table)
    if vendor == "sqlite":
        unless_switched = f"""WHEN NOT EXISTS (SELECT 1 FROM {SWITCH})
            BEGIN SELECT RAISE(ABORT, '{table} {REFUSAL}'); END"""
        columns = ", ".join(f'"{column}"' for column in frozen)
        return [
            f"DROP TRIGGER IF EXISTS {no_update}",
            f"DROP TRIGGER IF EXISTS {no_delete}",
            f'CREATE TRIGGER {no_update} BEFORE UPDATE OF {columns} ON "{table}" {unless_switched}',
            f'CREATE TRIGGER {no_delete} BEFORE DELETE ON "{table}" {unless_switched}',
        ]
    same = " AND ".join(
        f'NEW."{column}" IS NOT DISTINCT FROM OLD."{column}"' for column in frozen
    )
    return [
        f"""CREATE OR REPLACE FUNCTION {no_update}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF ({same}) OR EXISTS (SELECT 1 FROM {SWITCH}) THEN RETURN NEW; END IF;
            RAISE EXCEPTION '{table} {REFUSAL}'; END $$""",
        f"""CREATE OR REPLACE FUNCTION {no_delete}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF EXISTS (SELECT 1 FROM {SWITCH}) THEN RETURN COALESCE(OLD, NULL); END IF;
            RAISE EXCEPTION '{table} {REFUSAL}'; END $$""",
        f'DROP TRIGGER IF EXISTS {no_update} ON "{table}"',
        f'DROP TRIGGER IF EXISTS {no_delete} ON "{table}"',
        *(f'DROP TRIGGER IF EXISTS {name} ON "{table}"' for name in emptied),
        f'CREATE TRIGGER {no_update} BEFORE UPDATE ON "{table}" FOR EACH ROW EXECUTE FUNCTION {no_update}()',
        f'CREATE TRIGGER {no_delete} BEFORE DELETE ON "{table}" FOR EACH ROW EXECUTE FUNCTION {no_delete}()',
        *(
            f'CREATE TRIGGER {name} BEFORE TRUNCATE ON "{table}" EXECUTE FUNCTION {no_delete}()'
            for name in emptied
        ),
    ]
