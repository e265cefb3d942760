"""What the insights page shows, as CSV: one row for each figure's bearer, all under the same columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from approvals.audit import neutral
from approvals.insights.shapes import Ages, Insights, Measure

COLUMNS = [
    "sort",
    "name",
    "waiting",
    "ended",
    "approved",
    "approved_with_changes",
    "rejected",
    "answered",
    "declined",
    "expired",
    "withdrawn",
    "approval_rate_percent",
    "median_seconds",
    "p95_seconds",
    "words_known",
    "faster_than_read",
]


def sheet(insights: Insights, ages: Ages, age_names: Sequence[str]) -> str:
    """RFC 4180, with a header row; names that a spreadsheet would run as a formula get a leading apostrophe."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in _rows(insights, ages, age_names):
        writer.writerow(["" if cell is None else neutral(str(cell)) for cell in row])
    return out.getvalue()


def _rows(insights: Insights, ages: Ages, age_names: Sequence[str]) -> Iterator[list[object]]:
    for name, count in zip(age_names, ages.counts, strict=True):
        yield ["waiting", name, count, *([None] * (len(COLUMNS) - 3))]
    yield _cells("period", f"{insights.days} days", insights.total)
    for measure in insights.per_day:
        yield _cells("day", measure.name, measure)
    for sort, ranking in (("tool", insights.tools), ("agent", insights.agents), ("person", insights.people)):
        for measure in ranking.measures:
            yield _cells(sort, measure.name, measure)


def _cells(sort: str, name: str, of: Measure) -> list[object]:
    counts = [of.ended, of.approved, of.edited, of.rejected, of.answered, of.declined, of.expired, of.withdrawn]
    times = [None if seconds is None else round(seconds, 1) for seconds in (of.median, of.p95)]
    return [sort, name, None, *counts, of.approval_rate, *times, of.readable, of.hasty]
