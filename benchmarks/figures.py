"""Print tables of measurements: the number, the spread, and the ratio to the first row."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence

#: The value of each round, by what was measured.
Figures = dict[str, list[float]]


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile (0.95: p95)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def ratio_in_turns(values: Sequence[float], base: Sequence[float]) -> str:
    """Return the ratio of two things that were measured in turns: the median of that of each round, and its range."""
    ratios = [value / other for value, other in zip(values, base, strict=True)]
    return f"{statistics.median(ratios):.2f}x ({min(ratios):.2f}-{max(ratios):.2f})"


class Table:
    """A table that is printed row by row while it is measured. `unit` is that of all values."""

    def __init__(self, title: str, unit: str = "ms", *more: str) -> None:
        self.width, self.base = max(len(title), 46), 0.0
        heads = [
            "n",
            *(f"{name} {unit}" for name in ("p5", "p50", "p95")),
            "ratio",
            *more,
        ]
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


def in_turns(
    measures: Mapping[str, Callable[[], Mapping[str, float]]], rounds: int
) -> dict[str, Figures]:
    """Let them take turns in each round, and in who begins. Return the figures of each by its name."""
    found: dict[str, Figures] = {name: {} for name in measures}
    order = list(measures)
    for _ in range(rounds):
        for name in order:
            for figure, value in measures[name]().items():
                found[name].setdefault(figure, []).append(value)
        order.reverse()
    return found


def print_pairs(title: str, found: Mapping[str, Figures]) -> None:
    """Print the medians of two that took turns, and the ratio of the second to the first."""
    (first, base), (second, values) = found.items()
    width = max(len(title), 46)
    print(f"\n{title:<{width}}{first:>12}{second:>12}  ratio")
    for figure, own in values.items():
        medians = "".join(
            f"{statistics.median(taken):>12.2f}" for taken in (base[figure], own)
        )
        print(
            f"{figure:<{width}}{medians}  {ratio_in_turns(own, base[figure])}",
            flush=True,
        )
