"""A side-by-side difference of two long texts, with long stretches of unchanged lines folded. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from django.utils.translation import ngettext

from approvals.text.alignment import Op, PairBudget, align
from approvals.text.numbers import grouped

#: Unchanged lines shown around a change, and the minimum number of further ones that are folded.
CONTEXT = 3
SHORTEST = 4
#: Maximum pairs of lines to compare per text; beyond it, everything counts as removed and added.
MAX_WORK = 4_000_000
#: Texts with more lines are shown whole.
MAX_LINES = 2_000


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line of the old text and the line that replaced it, with their numbers; None on a side without one.

    With `other`, they differ although they look the same.
    """

    before: str | None
    after: str | None
    was: int | None = None
    now: int | None = None
    other: bool = False

    @property
    def changed(self) -> bool:
        return self.other or self.before != self.after


@dataclass(frozen=True, slots=True)
class Hunk:
    """Consecutive lines: shown, or folded if none of them has changed. In patches, hunks have headings."""

    pairs: Sequence[LinePair]
    folded: bool = False
    heading: str = ""

    @property
    def fold(self) -> str:
        count = len(self.pairs)
        return ngettext(
            "%(count)s unchanged line", "%(count)s unchanged lines", count
        ) % {"count": grouped(count)}


def hunks(before: str, after: str) -> list[Hunk]:
    """Return the lines of two texts in hunks; empty if neither has more than one line, or if there are too many."""
    if not 0 < before.count("\n") + after.count("\n") <= MAX_LINES:
        return []
    return folded(pairs_of(before, after, PairBudget(MAX_WORK)))


def folded(pairs: Iterable[LinePair], heading: str = "") -> list[Hunk]:
    """Return lines in hunks; the first one gets the heading."""
    finished: list[Hunk] = []
    same: list[LinePair] = []
    changed: list[LinePair] = []
    for pair in pairs:
        if not pair.changed:
            same.append(pair)
            continue
        changed += _shown_before(same, finished, changed)
        same = []
        changed.append(pair)
    first, *others = [*finished, *_end(same, changed)]
    return [replace(first, heading=heading), *others]


def _shown_before(
    same: list[LinePair], finished: list[Hunk], changed: list[LinePair]
) -> list[LinePair]:
    """Return the unchanged lines to show before the next change; append `changed` and a folded hunk to `finished`."""
    first = CONTEXT if changed else 0
    if len(same) < first + CONTEXT + SHORTEST:
        return same
    if changed:
        finished.append(Hunk([*changed, *same[:first]]))
        changed.clear()
    finished.append(Hunk(same[first:-CONTEXT], folded=True))
    return same[-CONTEXT:]


def _end(same: list[LinePair], changed: list[LinePair]) -> Iterator[Hunk]:
    if len(same) < CONTEXT + SHORTEST:
        yield Hunk([*changed, *same])
    else:
        yield Hunk([*changed, *same[:CONTEXT]])
        yield Hunk(same[CONTEXT:], folded=True)


def pairs_of(
    before_text: str, after_text: str, budget: PairBudget
) -> Iterator[LinePair]:
    """Yield each line once; the lines of a replaced stretch come beside their replacements."""
    before = before_text.split("\n")
    after = after_text.split("\n")
    removed: list[tuple[int | None, str]] = []
    added: list[tuple[int | None, str]] = []
    for block in align(before, after, budget):
        if block.op == Op.SAME:
            yield from beside(removed, added)
            removed = []
            added = []
            for at, to in zip(
                range(block.i1, block.i2), range(block.j1, block.j2), strict=True
            ):
                yield LinePair(before[at], after[to], at + 1, to + 1)
        removed += [
            (at + 1, before[at])
            for at in range(block.i1, block.i2)
            if block.op == Op.REMOVED
        ]
        added += [
            (to + 1, after[to])
            for to in range(block.j1, block.j2)
            if block.op == Op.ADDED
        ]
    yield from beside(removed, added)


def beside(
    removed: Sequence[tuple[int | None, str]], added: Sequence[tuple[int | None, str]]
) -> Iterator[LinePair]:
    """Yield removed lines beside the added lines that replaced them, each with its number."""
    for left, right in zip_longest(removed, added, fillvalue=(None, None)):
        yield LinePair(left[1], right[1], left[0], right[0], other=left[1] == right[1])
