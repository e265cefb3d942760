"""Align two sequences, or the values of two JSON objects, into shared, removed and added parts. Pure.

Time and memory grow with the product of the lengths, so all comparisons of a page share a budget. Sequences beyond it are
reported as one removal and one addition, and `Budget.coarse` is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

#: Maximum pairs of items to compare: per page, and per two sequences (about 0.1 s and 13 MB).
WORK = 400_000_000
SHARE = 100_000_000
#: Texts with more words are compared by line.
MAX_WORDS = 20_000
_WORD = re.compile(r"\S+\s*|\s+")
#: Stands for a value that exists in only one of two objects.
ABSENT: Any = object()
Values = Mapping[Any, Any]
#: Two objects whose values are to be aligned; None for values that are compared as a whole.
Opened = tuple[Values, Values] | None


class Op(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"


class Block(NamedTuple):
    """A stretch with one operation: `left[i1:i2]` and `right[j1:j2]`, one of which is empty unless both are the same."""

    op: Op
    i1: int
    i2: int
    j1: int
    j2: int


class Stretch(NamedTuple):
    """A stretch of text: in both, only on the left (removed) or only on the right (added)."""

    op: Op
    text: str


@dataclass
class PairBudget:
    """The remaining pairs of items to compare. `coarse`: some sequences were too long."""

    left: int = WORK
    coarse: bool = False


def align(
    left: Sequence[Hashable], right: Sequence[Hashable], budget: PairBudget
) -> list[Block]:
    """Return blocks that cover both sequences in order.

    If the budget runs out, everything between the common prefix and suffix becomes one removed and one added block.
    """
    start = _shared(left, right)
    end = _shared(left[start:][::-1], right[start:][::-1])
    n = len(left) - end
    m = len(right) - end
    blocks = [Block(Op.SAME, 0, start, 0, start)]
    matches = (
        _shortest(left[start:n], right[start:m], budget)
        if start < n and start < m
        else []
    )
    if matches is None:
        budget.coarse = True
        matches = []
    at = start
    to = start
    for i, j, length in [*matches, (n - start, m - start, end)]:
        blocks += [
            Block(Op.REMOVED, at, start + i, to, to),
            Block(Op.ADDED, start + i, start + i, to, start + j),
        ]
        at = start + i + length
        to = start + j + length
        blocks.append(Block(Op.SAME, start + i, at, start + j, to))
    return [block for block in blocks if block.i1 < block.i2 or block.j1 < block.j2]


def _shared(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Return the length of the common prefix."""
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    return length


def _shortest(
    left: Sequence[Hashable], right: Sequence[Hashable], budget: PairBudget
) -> list[tuple[int, int, int]] | None:
    """Return the common stretches as (index left, index right, length); None if the budget is too small."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415 - loaded late

    work = len(left) * len(right)
    if work > min(budget.left, SHARE):
        return None
    budget.left -= work
    # Numbered, because rapidfuzz compares items only by hash.
    numbers: dict[Hashable, int] = {}
    numbered = [
        [numbers.setdefault(item, len(numbers)) for item in items]
        for items in (left, right)
    ]
    return [
        (code.src_start, code.dest_start, code.src_end - code.src_start)
        for code in Indel.opcodes(*numbered)
        if code.tag == "equal"
    ]


def text_runs(before: str, after: str, budget: PairBudget) -> list[Stretch]:
    """Return the differences of two texts by word; by line if they are long or very different, at worst as a whole."""
    if before == after:
        return [Stretch(Op.SAME, before)] if before else []
    for split in (_WORD.findall, lambda text: text.splitlines(keepends=True)):
        left = split(before)
        right = split(after)
        if len(left) + len(right) > MAX_WORDS and split is _WORD.findall:
            budget.coarse = True
            continue
        tried = PairBudget(budget.left)
        blocks = align(left, right, tried)
        budget.left = tried.left
        if not tried.coarse:
            break
        budget.coarse = True
    return [_run(block, left, right) for block in blocks]


def _run(block: Block, left: Sequence[str], right: Sequence[str]) -> Stretch:
    if block.op == Op.ADDED:
        return Stretch(block.op, "".join(right[block.j1 : block.j2]))
    return Stretch(block.op, "".join(left[block.i1 : block.i2]))


def both_objects(left: Any, right: Any) -> Opened:
    """Return two non-empty objects; None for other values."""
    return (
        (left, right)
        if left and right and isinstance(left, dict) and isinstance(right, dict)
        else None
    )


def align_values(
    before: Values,
    after: Values,
    opened: Callable[[Any, Any], Opened] = both_objects,
    path: tuple[Any, ...] = (),
) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Yield the values at each path of two objects, equal ones too; ABSENT on a side without a value."""
    for name in {**before, **after}:
        left = before.get(name, ABSENT)
        right = after.get(name, ABSENT)
        if inner := opened(left, right):
            yield from align_values(*inner, opened, (*path, name))
        else:
            yield (*path, name), left, right
