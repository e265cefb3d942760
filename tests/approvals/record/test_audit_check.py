"""`manage.py audit check` names every audit entry that was changed."""

from __future__ import annotations

import hashlib
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from approvals import actions
from approvals.asking.digests import input_digest
from approvals.db import append_only
from approvals.exceptions import OtherInput
from approvals.models import AuditEntry
from approvals.record import audit, integrity
from approvals.states import Door, Verdict
from tests.support import vendors
from tests.support.desk.requests import decide, make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

#: Columns that the body does not hold.
OUTSIDE = {"id", "retry_count", "last_seen_at", "open_after"}


def record() -> list[AuditEntry]:
    """Three entries: of a request, its decision and a result."""
    decide(make_request(alice(), tool_call_id="call-1"), bob(), Verdict.APPROVE)
    call = audit.Subject(scope="key:1", tool_call_id="call-1")
    audit.record_once("tool.result", call, data={"output": 1}, actor=None, via="rest")
    return list(AuditEntry.objects.order_by("pk"))


def change(entry: AuditEntry, column: str, value: str) -> None:
    """Change a column with direct access to the database; `value` is SQL."""
    with append_only.maintenance(connection, "an attack"):
        vendors.run(f'UPDATE approvals_auditentry SET "{column}" = {value} WHERE id = {entry.pk}')


def check() -> str:
    out = StringIO()
    call_command("audit", "check", stdout=out)
    return out.getvalue()


def refused() -> tuple[list[str], str]:
    """The lines that the failing command prints, and its error."""
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("audit", "check", stdout=out)
    assert error.value.returncode == 1
    return out.getvalue().splitlines(), str(error.value)


def test_an_unchanged_log_passes(monkeypatch):
    monkeypatch.setattr(integrity, "PAGE", 2)
    assert check() == "All 0 audit entries are unchanged.\n"
    record()
    assert check() == "All 3 audit entries are unchanged.\n"


def test_a_repeated_result_does_not_count_as_a_change():
    record()
    call = audit.Subject(scope="key:1", tool_call_id="call-1")
    assert audit.record_once("tool.result", call, data={}, actor=None, via="rest") is False
    assert check() == "All 3 audit entries are unchanged.\n"


@pytest.mark.parametrize(
    "field", [one for one in AuditEntry._meta.concrete_fields if one.column not in OUTSIDE], ids=lambda one: one.column
)
def test_every_changed_column_is_found(field):
    _, decided, _ = record()
    change(decided, field.column, vendors.other_value(field))
    lines, words = refused()
    assert words == "1 of 3 audit entries were changed since they were recorded."
    (line,) = lines
    assert line.startswith(f"Changed since it was recorded: entry {decided.pk} (")
    assert field.column in line


def record_other_input() -> AuditEntry:
    """Report that a call ran with a different input than the approved one."""
    request, by = make_request(alice(), tool_call_id="call-1"), bob()
    decide(request, by, Verdict.APPROVE)
    ran = actions.ReportedResult(input_digest=input_digest({"ran": 1}), output=1)
    with pytest.raises(OtherInput):
        actions.report_result(request.pk, ran, scope=request.scope, by=request.requested_by, via=Door.REST)
    return AuditEntry.objects.get(event="tool.other_input")


def test_a_report_of_another_input_passes():
    record_other_input()
    assert check() == "All 3 audit entries are unchanged.\n"


def test_a_call_that_a_key_denies_passes_under_its_key_only():
    subject = audit.Subject(scope="key:1", tool_call_id="call-1", tool_name="Bash")
    actions.record_denied_call(subject, {"command": "ls"}, "Bash", by=alice(), via=Door.REST)
    assert check() == "All 1 audit entries are unchanged.\n"
    entry = AuditEntry.objects.get()
    change(entry, "dedup_key", "'tool.denied:key:1:call-2'")
    assert [line.rpartition("Z): ")[2] for line in refused()[0]] == ["dedup_key"]


@pytest.mark.parametrize("value", ["NULL", "'tool.other_input:key:1:call-1'"])
def test_a_changed_key_of_a_report_of_another_input_is_found(value):
    change(record_other_input(), "dedup_key", value)
    assert [line.rpartition("Z): ")[2] for line in refused()[0]] == ["dedup_key"]


@pytest.mark.parametrize(("number", "value"), [(2, "NULL"), (1, "'request.decided:key:1:call-1'")])
def test_a_result_without_its_key_and_a_key_of_another_event_are_found(number, value):
    change(record()[number], "dedup_key", value)
    assert [line.rpartition("Z): ")[2] for line in refused()[0]] == ["dedup_key"]


def test_a_verdict_that_was_blanked_or_added_is_found():
    _, decided, result = record()
    change(decided, "verdict", "''")
    change(result, "verdict", "'approve'")
    assert [line.rpartition("Z): ")[2] for line in refused()[0]] == ["verdict", "verdict"]


def test_a_changed_actor_is_found():
    _, decided, _ = record()
    change(decided, "actor_name", "'mallory'")
    lines, _ = refused()
    assert lines == [
        f"Changed since it was recorded: entry {decided.pk} (request.decided, {audit.utc(decided.at)}): actor_name"
    ]


def test_an_actor_in_an_entry_without_one_is_found():
    *_, result = record()
    change(result, "actor_id", "0")
    assert refused()[0][0].endswith(": actor_id")


def test_a_changed_body_is_found_and_so_is_a_body_that_is_no_entry():
    asked, decided, _ = record()
    change(asked, "body", "replace(body, '4711', '9999')")
    body = "[]"
    change(decided, "body", f"'{body}'")
    change(decided, "digest", f"'sha256:{hashlib.sha256(body.encode()).hexdigest()}'")
    lines, words = refused()
    assert [line.rpartition("Z): ")[2] for line in lines] == ["body or digest", "body (it is no entry)"]
    assert words.startswith("2 of 3 ")


def test_a_changed_value_cannot_forge_lines_of_the_report():
    asked, *_ = record()
    change(asked, "event", "'x" + "\n" + "0 audit entries were changed'")
    lines, _ = refused()
    assert len(lines) == 1


def test_the_log_is_read_in_pages(monkeypatch, django_assert_num_queries):
    record()
    monkeypatch.setattr(integrity, "PAGE", 2)
    with django_assert_num_queries(3):
        assert [found for found in integrity.check_entries() if found] == []
