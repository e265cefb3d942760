"""On PostgreSQL a TRUNCATE passes triggers for rows by: each protected table has one of its own, and a missing one is said."""

from __future__ import annotations

import re

import pytest

from tests.support.processes.deployed import Site, new_database, site

TABLES = ("approvals_auditentry", "approvals_decision", "chats_turncheckpoint")
EMPTY = f"""
from django.db import DatabaseError, connection, transaction
for table in {TABLES!r}:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {{table}} CASCADE")
    except DatabaseError as error:
        print(str(error).splitlines()[0])
"""
LOSE = """
from django.db import connection
for table in {tables!r}:
    for name in ("no_update", "no_delete", "no_delete_all"):
        connection.cursor().execute({statement!r}.format(table=table, name=name))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    with site(tmp_path_factory.mktemp("large"), DATABASE_URL=new_database()) as made:
        made.set_up()
        yield made


def missing(large: Site) -> list[str]:
    """The triggers that `check` misses."""
    return re.findall(
        r"The trigger (\w+) is missing", large.manage("check", "--database", "default", check=False).stderr
    )


def test_no_protected_table_can_be_emptied(large):
    refused = [f"{table} is append-only: rows are never changed or deleted" for table in TABLES]
    assert large.run(EMPTY).splitlines() == refused


@pytest.mark.parametrize(
    "lost", ["DROP TRIGGER {table}_{name} ON {table}", "ALTER TABLE {table} DISABLE TRIGGER {table}_{name}"]
)
def test_triggers_that_are_missing_or_switched_off_are_said_and_migrate_puts_them_back(large, lost):
    assert missing(large) == []
    large.run(LOSE.format(tables=TABLES, statement=lost))
    names = ("no_update", "no_delete", "no_delete_all")
    assert sorted(missing(large)) == sorted(f"{table}_{name}" for table in TABLES for name in names)
    large.manage("migrate", "--verbosity", "0", "--skip-checks")
    assert missing(large) == []
