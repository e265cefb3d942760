"""Print tables of measurements: the number, the spread, and the ratio to the first row."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile (0.95: p95)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


class Table:
    """A table that is printed row by row while it is measured. `unit` is that of all values."""

    def __init__(self, title: str, unit: str = "ms", *more: str) -> None:
        self.width, self.base = max(len(title), 46), 0.0
        heads = ["n", *(f"{name} {unit}" for name in ("p5", "p50", "p95")), "ratio", *more]
        print(
            f"\n{title:<{self.width}}"
            + "".join(f"{head:>12}" for head in heads[:5])
            + "".join(f"  {head}" for head in heads[5:])
        )

    def row(self, name: str, values: Sequence[float], *more: str) -> None:
        median = statistics.median(values)
        self.base = self.base or median
        ratio = f"{median / self.base:.2f}x" if self.base else "-"
        figures = [f"{quantile(values, share):.2f}" for share in (0.05, 0.5, 0.95)]
        cells = "".join(f"{cell:>12}" for cell in [str(len(values)), *figures, ratio])
        print(f"{name:<{self.width}}" + cells + "".join(f"  {cell}" for cell in more))
        sys.stdout.flush()
