"""No cell of a CSV file is a formula to any spreadsheet."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry
from approvals.record import audit


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "\u3000"])
def test_what_could_begin_a_formula_has_an_apostrophe_before_it(before, sign):
    cell = f"{before}{sign}HYPERLINK(1)"
    assert audit.neutralize(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["\tx", "\rx", "\nx"])
def test_so_has_what_begins_with_a_control_that_spreadsheets_skip(cell):
    assert audit.neutralize(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "refund", "a=b", "3-4", "bob@example.org", " words", "\u3000x"])
def test_every_other_text_stays_as_it_is(cell):
    assert audit.neutralize(cell) == cell


@pytest.mark.django_db
def test_the_export_of_the_record_holds_none():
    subject = audit.Subject(scope="key:1", tool_name="\n=cmd|' /C calc'!A0", agent="\uff1d1+1")
    audit.record("tool.result", subject, data={}, actor=None, via="rest")
    cells = dict(zip(audit.COLUMNS, audit.csv_cells(AuditEntry.objects.get()), strict=True))
    assert (cells["tool"], cells["agent"]) == ("'\n=cmd|' /C calc'!A0", "'\uff1d1+1")
