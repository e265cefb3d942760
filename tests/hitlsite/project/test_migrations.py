"""No migration changes the type or the length of a column that has landed.

A process that runs while an upgrade migrates has prepared its reads (`hitlsite.env.PREPARED`). PostgreSQL refuses a prepared read
whose columns have another type than when it was planned, for as long as the connection lives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations import AlterField, Migration, RemoveField, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

OURS = ("approvals", "chats")
#: SQL that changes a column: `ALTER COLUMN name TYPE`, `ALTER name SET DATA TYPE`.
_TYPED_IN_SQL = re.compile(r"\bALTER\s+(COLUMN\s+)?\S+\s+(SET\s+DATA\s+)?TYPE\b", re.IGNORECASE)


def postgresql() -> DatabaseWrapper:
    """PostgreSQL's words for types; nothing connects."""
    return DatabaseWrapper({**connection.settings_dict, "NAME": "none", "OPTIONS": {}})


def type_of(field: Any, database: DatabaseWrapper) -> str:
    """The type of a column with its length; that of a foreign key by its target."""
    if field.remote_field is not None:
        return f"to {field.remote_field.model}".lower()
    return str(field.db_type(database))


def changed_columns(state: ProjectState, app: str, operations: Sequence[Operation]) -> Iterator[str]:
    """Yield the columns whose type or length these operations change; they are applied to the state."""
    database = postgresql()
    for operation in operations:
        if isinstance(operation, RunSQL) and _TYPED_IN_SQL.search(str(operation.sql)):
            yield f"SQL: {operation.sql}"
        before = {name: dict(model.fields) for name, model in state.models.items()}
        operation.state_forwards(app, state)
        for name in before.keys() & state.models.keys():
            fields = state.models[name].fields
            for column in before[name].keys() & fields.keys():
                if before[name][column] is fields[column]:
                    continue
                types = [type_of(each[column], database) for each in (before[name], fields)]
                if types[0] != types[1]:
                    yield f"{name[1]}.{column}: {types[0]} -> {types[1]}"


def landed() -> list[Migration]:
    """Our migrations in their order, each after its dependencies."""
    loader = MigrationLoader(None)
    targets = [key for key in loader.graph.leaf_nodes() if key[0] in OURS]
    plan: dict[tuple[str, str], None] = {}
    for target in targets:
        plan |= dict.fromkeys(loader.graph.forwards_plan(target))
    return [loader.graph.nodes[key] for key in plan]


def test_no_migration_changes_the_type_or_length_of_a_column():
    state, found = ProjectState(real_apps=set()), []
    for migration in landed():
        changed = list(changed_columns(state, migration.app_label, migration.operations))
        if migration.app_label in OURS:
            found += [f"{migration.app_label}.{migration.name}: {each}" for each in changed]
    assert found == []


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (
            [AlterField("grant", "agent", models.CharField(max_length=200))],
            ["grant.agent: varchar(100) -> varchar(200)"],
        ),
        ([AlterField("grant", "agent", models.TextField())], ["grant.agent: varchar(100) -> text"]),
        ([AlterField("grant", "agent", models.CharField(max_length=100, blank=True, db_default=""))], []),
        ([AlterField("grant", "uses", models.PositiveIntegerField(null=False))], []),
        ([AlterField("grant", "uses", models.BigIntegerField(null=True))], ["grant.uses: integer -> bigint"]),
        (
            [RunSQL("ALTER TABLE approvals_grant ALTER COLUMN agent TYPE text")],
            ["SQL: ALTER TABLE approvals_grant ALTER COLUMN agent TYPE text"],
        ),
        ([RemoveField("grant", "reason")], []),
    ],
)
def test_a_change_of_a_type_or_length_is_found(operations, expected):
    state = ProjectState.from_apps(apps)
    assert list(changed_columns(state, "approvals", operations)) == expected
