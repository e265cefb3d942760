"""The figures of the insights page as CSV, in one table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from django.utils.translation import gettext, ngettext

from approvals.queries.insights.values import Ages, Insights, Measure
from approvals.record.audit import neutralize

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
    "cancelled",
    "settled",
    "automatic",
    "approval_rate_percent",
    "median_seconds",
    "p95_seconds",
    "words_known",
    "faster_than_read",
]


def to_csv(insights: Insights, ages: Ages, age_names: Sequence[str]) -> str:
    """Return the figures as RFC 4180 CSV with a header row.

    Names that a spreadsheet would run as a formula get a leading apostrophe. Rows of the kind `note` state in their second cell
    which data the figures exclude.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in _rows(insights, ages, age_names):
        writer.writerow(["" if cell is None else neutralize(str(cell)) for cell in row])
    return out.getvalue()


def _rows(
    insights: Insights, ages: Ages, age_names: Sequence[str]
) -> Iterator[list[object]]:
    if ages.capped:
        yield _note(gettext("More requests are waiting than are counted here."))
    if insights.capped:
        yield _note(
            gettext(
                "Too many requests ended in this period to include them all. The figures cover the latest %(limit)d."
            )
            % {"limit": insights.total.ended}
        )
    for name, count in zip(age_names, ages.counts, strict=True):
        yield ["waiting", name, count, *([None] * (len(COLUMNS) - 3))]
    yield _cells("period", f"{insights.days} days", insights.total)
    for measure in insights.per_day:
        yield _cells("day", measure.name, measure)
    for sort, ranking in (
        ("tool", insights.tools),
        ("agent", insights.agents),
        ("person", insights.people),
    ):
        for measure in ranking.measures:
            yield _cells(sort, measure.name, measure)
        if left := ranking.names - len(ranking.measures):
            message = ngettext(
                "%(left)d more “%(sort)s” row is not included.",
                "%(left)d more “%(sort)s” rows are not included.",
                left,
            )
            yield _note(message % {"left": left, "sort": sort})


def _note(text: str) -> list[object]:
    return ["note", text, *([None] * (len(COLUMNS) - 2))]


def _cells(sort: str, name: str, of: Measure) -> list[object]:
    counts = [
        of.ended,
        of.approved,
        of.edited,
        of.rejected,
        of.answered,
        of.declined,
        of.expired,
        of.cancelled,
    ]
    counts += [of.settled, of.automatic]
    times = [
        None if seconds is None else round(seconds, 1)
        for seconds in (of.median, of.p95)
    ]
    return [sort, name, None, *counts, of.approval_rate, *times, of.readable, of.hasty]
