"""No cell of a CSV file is run as a formula."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry
from approvals.record import audit


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "\u3000"])
def test_a_cell_that_could_be_a_formula_gets_an_apostrophe(before, sign):
    cell = f"{before}{sign}HYPERLINK(1)"
    assert audit.neutralize(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["\tx", "\rx", "\nx"])
def test_a_cell_that_begins_with_a_skipped_control_character_gets_an_apostrophe(cell):
    assert audit.neutralize(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "refund", "a=b", "3-4", "bob@example.org", " words", "\u3000x"])
def test_any_other_cell_is_unchanged(cell):
    assert audit.neutralize(cell) == cell


@pytest.mark.django_db
def test_the_export_of_the_log_has_no_formula():
    subject = audit.Subject(scope="key:1", tool_name="\n=cmd|' /C calc'!A0", agent="\uff1d1+1")
    audit.record("tool.result", subject, data={}, actor=None, via="rest")
    cells = dict(zip(audit.COLUMNS, audit.csv_cells(AuditEntry.objects.get()), strict=True))
    assert (cells["tool"], cells["agent"]) == ("'\n=cmd|' /C calc'!A0", "'\uff1d1+1")
