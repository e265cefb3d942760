"""The geometry of the charts' bars, in units of the SVG view box. No Django."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from approvals.queries.insights.values import Measure

#: The view box of the chart of days.
WIDTH = 900
HEIGHT = 200


@dataclass(frozen=True, slots=True)
class Rect:
    """A bar or a part of one; `kind` becomes its CSS class."""

    kind: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Column:
    """The column of one day: its figures, and its parts from the bottom up."""

    measure: Measure
    parts: Sequence[Rect]
    x: int
    width: int
    link: str = ""


@dataclass(frozen=True, slots=True)
class Days:
    columns: Sequence[Column]
    top: int

    @property
    def linked(self) -> bool:
        """Whether any column is a link."""
        return any(column.link for column in self.columns)


def days_chart(
    measures: Sequence[Measure], links: Mapping[str, str] | None = None
) -> Days:
    """Return a column for each day: approved, answered, rejected or declined, decided automatically, and ended without a
    decision."""
    top = max((measure.ended for measure in measures), default=0)
    step = WIDTH / max(len(measures), 1)
    gap = 1 if len(measures) > 40 else 3
    columns = []
    for place, measure in enumerate(measures):
        x = round(place * step)
        right = round((place + 1) * step)
        parts = list(_stack(measure, x, right - x - gap, top))
        link = (links or {}).get(measure.name, "")
        columns.append(
            Column(measure, parts, x, right - x, link if measure.ended else "")
        )
    return Days(columns, top)


def _stack(measure: Measure, x: int, width: int, top: int) -> Iterable[Rect]:
    parts = {
        "yes": measure.yes,
        "answered": measure.answered,
        "no": measure.rejected + measure.declined,
        "automatic": measure.automatic,
        "nobody": measure.undecided - measure.automatic,
    }
    below = 0
    for kind, count in parts.items():
        if count:
            # Round both edges instead of the height, so that the parts of a column neither overlap nor leave gaps.
            bottom, above = (
                HEIGHT - round(HEIGHT * n / top) for n in (below, below + count)
            )
            below += count
            yield Rect(kind, x, above, width, max(bottom - above, 1))


def share(part: float, whole: float) -> int:
    """Return the length of a bar, from 0 to 100; at least 1 if `part` is not 0."""
    return max(round(100 * part / whole), 1) if part and whole else 0


def log_share(seconds: float | None, longest: float) -> int:
    """Return the same on a logarithmic scale, on which seconds are visible next to hours."""
    return share(math.log1p(seconds), math.log1p(longest)) if seconds else 0
