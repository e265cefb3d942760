"""The CSV of the insights: the figures of the page, no formulas, and notes on exclusions."""

from __future__ import annotations

import codecs
import csv
import io

import pytest
from django.test import Client
from django.utils import timezone

from approvals.models import Decision
from approvals.queries.insights import figures
from approvals.states import Kind, Verdict
from tests.approvals.queries.test_insights import NOW, past, total
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def sheet_of(client: Client, days: int) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"/insights/csv/?days={days}").text.removeprefix("\ufeff"))))


def test_csv_contains_the_figures_and_no_formulas():
    owner, by = alice(), bob()
    at = timezone.now()
    made = make_request(owner, tool_name="=cmd()")
    Decision.objects.create(request_id=made.pk, verdict="edit", by_id=by.pk, by_name="@bob", via="rest", decided_at=at)
    answer = browser(by).get("/insights/csv/?days=7")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="insights-7-days-{at:%Y-%m-%d}.csv"'
    assert answer.content.startswith(codecs.BOM_UTF8)
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
    assert [row["sort"] for row in rows] == [*["waiting"] * 5, "period", *["day"] * 7, "tool", "agent", "person"]
    named = {row["sort"]: row for row in rows if row["sort"] in {"tool", "person"}}
    assert (named["tool"]["name"], named["person"]["name"]) == ("'=cmd()", "'@bob")
    assert (named["tool"]["approved_with_changes"], named["tool"]["approval_rate_percent"]) == ("1", "100")


def test_csv_says_what_the_figures_do_not_include(monkeypatch):
    monkeypatch.setattr(figures, "LIMIT", 3)
    monkeypatch.setattr(figures, "TOP", 1)
    owner, by = alice(), bob()
    for days_ago, tool in ((1, "a"), (2, "b"), (3, "c"), (4, "d")):
        past(owner, Verdict.APPROVE, 5, by=by, days_ago=days_ago, tool=tool)
    rows = sheet_of(browser(by), 90)
    notes = [row["name"] for row in rows if row["sort"] == "note"]
    assert notes == [
        "Too many requests ended in this period to include them all. The figures cover the latest 3.",
        "2 more “tool” rows are not included.",
    ]
    days = [row["name"] for row in rows if row["sort"] == "day"]
    assert (days[0], rows[0]["ended"]) == ("2026-11-18", "")


def test_resolved_outcomes_have_a_column_and_rows_add_up():
    owner, by = alice(), bob()
    past(owner, Verdict.APPROVE, 5, by=by)
    past(owner, Verdict.RESPOND, 5, kind=Kind.RECOVERY)
    past(owner, Verdict.EXPIRE, 5)
    found = total(by)
    assert (found.ended, found.decided, found.expired, found.settled, found.undecided) == (3, 1, 1, 1, 2)
    (day,) = [row for row in sheet_of(browser(by), 30) if row["sort"] == "day" and row["ended"] != "0"]
    assert [day[name] for name in ("ended", "approved", "expired", "cancelled", "settled")] == ["3", "1", "1", "0", "1"]


def test_decision_before_its_request_counts_as_zero_seconds():
    owner, by = alice(), bob()
    past(owner, Verdict.APPROVE, -3, by=by, days_ago=0)
    client = browser(by)
    assert (total(by).median, total(by).p95) == (0, 0)
    assert client.get("/insights/").status_code == 200
    (tool,) = [row for row in sheet_of(client, 7) if row["sort"] == "tool"]
    assert (tool["median_seconds"], tool["p95_seconds"]) == ("0.0", "0.0")
