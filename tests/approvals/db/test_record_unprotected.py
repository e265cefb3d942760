"""A row left in the maintenance switch disables all triggers: it is reported everywhere, and `migrate` removes it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection

from approvals.checks import check_triggers
from approvals.db import append_only
from approvals.models import AuditEntry
from hitlsite.health import metrics, readiness
from tests.support.desk.requests import make_request
from tests.support.people import alice, make_person
from tests.support.vendors import drop_trigger

pytestmark = pytest.mark.django_db

WORDS = "A row in pausepoint_maintenance turns off all append-only triggers, so protected rows can be changed"


def leave_it_on(reason: str = "a script that died") -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {append_only.SWITCH} (reason) VALUES (%s)", [reason])


def admin_index(client, user) -> str:
    client.force_login(user)
    return client.get("/admin/").content.decode()


def test_with_a_row_in_the_switch_protected_rows_can_change():
    make_request(alice())
    leave_it_on()
    assert AuditEntry.objects.update(actor_name="mallory") == 1


def test_the_check_reports_it_with_instructions():
    assert check_triggers(databases=["default"]) == []
    leave_it_on()
    (error,) = check_triggers(databases=["default"])
    assert (error.id, error.msg, error.level) == ("approvals.E003", f"{WORDS}.", 40)
    assert "migrate --skip-checks" in error.hint
    assert "audit check" in error.hint


def test_readiness_reports_it():
    assert readiness.find_problems() == []
    leave_it_on()
    assert readiness.find_problems() == [f"record: {WORDS}; see `manage.py check --database default`"]


def test_readiness_and_metrics_report_a_missing_trigger():
    drop_trigger("approvals_decision_no_update", "approvals_decision")
    words = "record: triggers that protect it are missing; see `manage.py check --database default`"
    assert readiness.find_problems() == [words]
    assert b"pausepoint_record_protected 0.0" in metrics.Metrics().text()


def test_the_metrics_report_it():
    assert b"pausepoint_record_protected 1.0" in metrics.Metrics().text()
    leave_it_on()
    assert b"pausepoint_record_protected 0.0" in metrics.Metrics().text()


def test_every_admin_page_reports_it_to_staff_only(client):
    admin = make_person("admin")
    admin.is_staff = admin.is_superuser = True
    admin.save()
    assert "record is not protected" not in admin_index(client, admin)
    leave_it_on()
    assert "record is not protected" in admin_index(client, admin)
    assert "record is not protected" in client.get("/admin/approvals/auditentry/").content.decode()
    client.logout()
    assert "record is not protected" not in client.get("/admin/login/").content.decode()


def test_migrate_refuses_to_start():
    leave_it_on()
    with pytest.raises(SystemCheckError, match=r"approvals\.E003"):
        call_command("migrate", skip_checks=False, stdout=StringIO(), stderr=StringIO())


def test_migrate_restores_missing_triggers_and_says_so():
    names = ["approvals_decision_no_update", "approvals_decision_no_delete"]
    for name in names:
        drop_trigger(name, "approvals_decision")
    said = StringIO()
    call_command("migrate", skip_checks=False, stdout=StringIO(), stderr=said)
    assert append_only.missing_triggers(connection) == []
    assert said.getvalue() == (
        f"Restored triggers that were missing: {', '.join(names)}. If no earlier `migrate` was interrupted, protected "
        "rows could be changed until now: run `manage.py audit check`.\n"
    )


def test_migrate_without_checks_removes_the_row_and_logs_it(caplog):
    leave_it_on("left by hand")
    call_command("migrate", "--skip-checks", verbosity=0)
    assert append_only.find_switch_rows(connection) == []
    (record,) = [one for one in caplog.records if one.name == "approvals.db.append_only"]
    assert record.levelname == "ERROR"
    assert "(left by hand)" in record.getMessage()
