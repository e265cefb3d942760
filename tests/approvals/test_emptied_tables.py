"""On PostgreSQL a TRUNCATE passes triggers for rows by: each protected table has one of its own, and a missing one is said."""

from __future__ import annotations

import pytest

from tests.deployed import new_database, site

TABLES = ("approvals_auditentry", "approvals_decision", "chats_turncheckpoint")
SQL = "from django.db import connection; connection.cursor().execute({!r})"
EMPTY = """
from django.db import DatabaseError, connection, transaction
for table in {tables!r}:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {{table}} CASCADE")
    except DatabaseError as error:
        print(str(error).splitlines()[0])
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    with site(tmp_path_factory.mktemp("large"), DATABASE_URL=new_database()) as made:
        made.manage("migrate", "--verbosity", "0")
        yield made


def test_no_protected_table_can_be_emptied(large):
    refused = [f"{table} is append-only: rows are never changed or deleted" for table in TABLES]
    assert large.run(EMPTY.format(tables=TABLES)).splitlines() == refused


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "lost",
    ["DROP TRIGGER {table}_{name} ON {table}", "ALTER TABLE {table} DISABLE TRIGGER {table}_{name}"],
)
@pytest.mark.parametrize("name", ["no_update", "no_delete", "no_delete_all"])
def test_a_trigger_that_is_missing_or_switched_off_is_said_and_migrate_puts_it_back(large, table, lost, name):
    large.run(SQL.format(lost.format(table=table, name=name)))
    said = large.manage("check", "--database", "default", check=False)
    assert (said.returncode, f"The trigger {table}_{name} is missing: its rows can be changed." in said.stderr) == (
        1,
        True,
    )
    large.manage("migrate", "--verbosity", "0")
    assert large.manage("check", "--database", "default").returncode == 0
