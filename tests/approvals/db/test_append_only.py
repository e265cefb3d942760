"""Append-only rows: the database refuses every change except under the maintenance switch."""

from __future__ import annotations

import threading
from contextlib import nullcontext, suppress
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management.sql import emit_post_migrate_signal
from django.db import DatabaseError, connection, models, transaction

from approvals import actions
from approvals.checks import check_triggers
from approvals.db import append_only
from approvals.models import Advice, ApprovalRequest, AuditEntry, Decision, Grant, PolicyVersion, Workflow
from approvals.models.comments import RequestComment
from approvals.record import audit
from approvals.states import Door, Verdict
from chats.models import TurnCheckpoint
from tests.support import vendors
from tests.support.database import PowerCut
from tests.support.desk.requests import decide, make_request
from tests.support.people import alice, bob

PROTECTED: list[type[models.Model]] = [AuditEntry, Decision, RequestComment, TurnCheckpoint]
AUDIT_REFUSAL = "approvals_auditentry is append-only: rows are never changed or deleted"
TABLES = [model._meta.db_table for model in PROTECTED]
SQLITE_ONLY = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="only SQLite rebuilds tables, and then loses triggers"
)


def fill() -> None:
    """One row in each protected table."""
    request, by = make_request(alice()), bob()
    actions.comment(request.pk, by=by, via=Door.DASHBOARD, text="Fine with me.")
    decide(request, by, Verdict.APPROVE)
    TurnCheckpoint.objects.create(
        chat_pk=1, turn_pk=1, run_id=uuid4(), message_id="m", ordinal=0, kind="final", finish_reason="stop", kept=0
    )


def rows() -> list[list[dict[str, Any]]]:
    return [list(model.objects.order_by("pk").values()) for model in PROTECTED]


def run(statement: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def assert_refused(statement: str, table: str) -> None:
    with pytest.raises(DatabaseError, match=f"{table} is append-only: rows are never changed or deleted"):
        run(statement)


@pytest.mark.django_db
@pytest.mark.parametrize("model", PROTECTED)
def test_updating_any_column_and_deleting_any_row_is_refused(model):
    fill()
    before, table = rows(), model._meta.db_table
    for field in model._meta.concrete_fields:
        if field.column not in {"retry_count", "last_seen_at"}:
            assert_refused(f'UPDATE {table} SET "{field.column}" = {vendors.other_value(field)}', table)
    assert_refused(f"DELETE FROM {table}", table)
    assert_refused(f"DELETE FROM {table} WHERE id = {before[PROTECTED.index(model)][0]['id']}", table)
    assert rows() == before


@pytest.mark.django_db
def test_only_the_repeat_columns_of_the_audit_log_can_be_updated():
    fill()
    run("UPDATE approvals_auditentry SET retry_count = retry_count + 1, last_seen_at = last_seen_at")
    assert set(AuditEntry.objects.values_list("retry_count", flat=True)) == {1}
    assert_refused("UPDATE approvals_auditentry SET retry_count = 2, body = '{}'", "approvals_auditentry")
    assert set(AuditEntry.objects.values_list("retry_count", flat=True)) == {1}


@pytest.mark.django_db
def test_replacing_a_row_by_an_insert_is_refused():
    fill()
    before = rows()
    for table, copied in zip(TABLES, before, strict=True):
        columns = ", ".join(f'"{field}"' for field in copied[0])
        over = f"INTO {table} ({columns}) SELECT {columns} FROM {table}"
        assert_refused(f"INSERT {over} WHERE true ON CONFLICT (id) DO UPDATE SET id = {table}.id + 1", table)
        if connection.vendor == "sqlite":
            assert_refused(f"REPLACE {over}", table)
    assert rows() == before


@pytest.mark.django_db
def test_deleting_the_subject_of_a_record_keeps_the_record():
    fill()
    before = rows()
    for model in (ApprovalRequest, Workflow, User):
        model.objects.all().delete()
        assert model.objects.count() == 0
    assert rows() == before


@SQLITE_ONLY
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("model", PROTECTED)
def test_triggers_lost_in_a_migration_are_reported_by_the_check_and_created_again_by_migrate(model):
    fill()
    table = model._meta.db_table
    said = models.CheckConstraint(condition=models.Q(id__gt=0), name="rebuilt")
    assert (append_only.missing_triggers(connection), check_triggers(databases=["default"])) == ([], [])
    try:
        for change in ("add_constraint", "remove_constraint"):
            with connection.schema_editor() as editor:
                getattr(editor, change)(model, said)
        lost = [f"{table}_no_update", f"{table}_no_delete"]
        assert append_only.missing_triggers(connection) == lost
        errors = check_triggers(databases=["default"])
        assert [(error.id, error.level) for error in errors] == [("approvals.E001", 40)] * 2
        assert [error.msg for error in errors] == [
            f"The trigger {name} is missing, so protected rows can be changed." for name in lost
        ]
    finally:
        emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    assert (append_only.missing_triggers(connection), check_triggers(databases=["default"])) == ([], [])
    assert_refused(f"UPDATE {table} SET id = id + 1", table)
    assert_refused(f"DELETE FROM {table}", table)


def expected_triggers() -> list[tuple[str, str]]:
    """Table and name of each."""
    changes = ["update", "delete", *["delete_all"] * (connection.vendor == "postgresql")]
    return [
        (table, f"{table}_no_{change}")
        for table in [*TABLES, Advice._meta.db_table, Grant._meta.db_table, PolicyVersion._meta.db_table]
        for change in changes
    ]


@pytest.mark.django_db(transaction=True)
def test_every_missing_trigger_is_reported_and_created_again():
    for table, name in expected_triggers():
        vendors.drop_trigger(name, table)
        assert append_only.missing_triggers(connection) == [name]
        assert [error.msg for error in check_triggers(databases=["default"])] == [
            f"The trigger {name} is missing, so protected rows can be changed."
        ]
        append_only.create_triggers(connection)
        assert append_only.missing_triggers(connection) == []


@pytest.mark.django_db
def test_creating_the_triggers_again_changes_nothing():
    before = vendors.triggers()
    append_only.create_triggers(connection)
    assert vendors.triggers() == before
    ours = [name for name, _ in before if not name.startswith(("approvals_search", "procrastinate_"))]
    assert ours == sorted(name for _, name in expected_triggers())


def test_a_check_without_a_database_reports_nothing():
    assert check_triggers(databases=None) == []


def refused_elsewhere(statement: str, *, patience: int = 20_000) -> str:
    """Try it on a connection of its own, in a thread; the first line of the refusal, or "" if it went through.

    `patience` is for the write lock, in milliseconds.
    """
    found: list[str] = []

    def attempt() -> None:
        try:
            with transaction.atomic() if connection.vendor == "postgresql" else nullcontext():
                vendors.run(vendors.PATIENCE[connection.vendor].format(ms=patience))
                vendors.run(statement)
            found.append("")
        except DatabaseError as error:
            found.append(str(error).splitlines()[0])
        finally:
            connection.close()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.django_db(transaction=True)
def test_maintenance_lets_this_transaction_change_rows_and_no_other():
    fill()
    delete = "DELETE FROM approvals_decision"
    assert "append-only" in refused_elsewhere(delete)
    with append_only.maintenance(connection, "retention"):
        Decision.objects.update(comment="pruned")
        TurnCheckpoint.objects.all().delete()
        # SQLite has one writer: the other waits and gives up. PostgreSQL lets it in, and it sees no switch.
        elsewhere = refused_elsewhere("DELETE FROM approvals_auditentry", patience=50)
        assert elsewhere == {"sqlite": "database is locked", "postgresql": AUDIT_REFUSAL}[connection.vendor]
    assert (list(Decision.objects.values_list("comment", flat=True)), TurnCheckpoint.objects.count()) == (["pruned"], 0)
    assert "append-only" in refused_elsewhere(delete)
    assert_refused(delete, "approvals_decision")
    assert_refused("UPDATE approvals_decision SET comment = ''", "approvals_decision")


@pytest.mark.django_db(transaction=True)
def test_failed_maintenance_changes_nothing_and_leaves_no_switch():
    fill()
    before = rows()
    with suppress(PowerCut), append_only.maintenance(connection, "retention"):
        AuditEntry.objects.all().delete()
        raise PowerCut
    assert rows() == before
    assert_refused("DELETE FROM approvals_auditentry", "approvals_auditentry")


@pytest.mark.django_db(transaction=True)
def test_maintenance_inside_a_transaction_ends_with_its_block():
    fill()
    with transaction.atomic():
        with append_only.maintenance(connection, "retention"):
            Decision.objects.update(comment="pruned")
        assert_refused("DELETE FROM approvals_decision", "approvals_decision")
    assert list(Decision.objects.values_list("comment", flat=True)) == ["pruned"]


@pytest.mark.django_db
def test_counting_a_repeat_passes_the_triggers():
    call = audit.Subject(scope="chat:1", tool_call_id="call-1")
    for new in (True, False):
        assert audit.record_once("tool.result", call, data={}, actor=None, via="system") is new
