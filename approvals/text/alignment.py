"""Align two sequences, or the values of two JSON objects: what is in both, what was removed and what was added. Pure.

Work and memory grow with the product of the lengths, so all comparisons of a page share a budget. Sequences beyond it are
reported as one removal and one addition, and `Budget.coarse` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from rapidfuzz.distance import Indel

#: Pairs of items to compare: for one page, and at most for two sequences (about 0.1 s and 13 MB).
WORK, SHARE = 400_000_000, 100_000_000
#: Texts of more words are compared by line.
MAX_WORDS = 20_000
_WORD = re.compile(r"\S+\s*|\s+")
#: Stands for the value that one of two objects lacks.
ABSENT: Any = object()
Values = Mapping[Any, Any]
#: Two values as objects whose own values are aligned; None for two that are not taken apart.
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


class Run(NamedTuple):
    """A stretch of text: in both, only on the left (removed) or only on the right (added)."""

    op: Op
    text: str


@dataclass
class Budget:
    """How many pairs of items may still be compared. `coarse` says that some sequences were too long for it."""

    left: int = WORK
    coarse: bool = False


def align(left: Sequence[Hashable], right: Sequence[Hashable], budget: Budget) -> list[Block]:
    """Return blocks that cover both sequences in order.

    If the budget runs out, everything between the shared ends becomes one removed and one added block.
    """
    start = _shared(left, right)
    end = _shared(left[start:][::-1], right[start:][::-1])
    n, m = len(left) - end, len(right) - end
    blocks = [Block(Op.SAME, 0, start, 0, start)]
    matches = _shortest(left[start:n], right[start:m], budget) if start < n and start < m else []
    if matches is None:
        budget.coarse = True
        matches = []
    at, to = start, start
    for i, j, length in [*matches, (n - start, m - start, end)]:
        blocks += [Block(Op.REMOVED, at, start + i, to, to), Block(Op.ADDED, start + i, start + i, to, start + j)]
        at, to = start + i + length, start + j + length
        blocks.append(Block(Op.SAME, start + i, at, start + j, to))
    return [block for block in blocks if block.i1 < block.i2 or block.j1 < block.j2]


def _shared(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Return the length of the shared prefix."""
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    return length


def _shortest(left: Sequence[Hashable], right: Sequence[Hashable], budget: Budget) -> list[tuple[int, int, int]] | None:
    """Return the stretches that both share, as (index left, index right, length); None where the budget does not suffice."""
    work = len(left) * len(right)
    if work > min(budget.left, SHARE):
        return None
    budget.left -= work
    # Numbered, because rapidfuzz compares items by their hashes alone.
    numbers: dict[Hashable, int] = {}
    numbered = [[numbers.setdefault(item, len(numbers)) for item in items] for items in (left, right)]
    return [
        (code.src_start, code.dest_start, code.src_end - code.src_start)
        for code in Indel.opcodes(*numbered)
        if code.tag == "equal"
    ]


def text_runs(before: str, after: str, budget: Budget) -> list[Run]:
    """Return the differences of two texts by word; by line if they are long or very different, at worst as a whole."""
    if before == after:
        return [Run(Op.SAME, before)] if before else []
    for split in (_WORD.findall, lambda text: text.splitlines(keepends=True)):
        left, right = split(before), split(after)
        if len(left) + len(right) > MAX_WORDS and split is _WORD.findall:
            budget.coarse = True
            continue
        tried = Budget(budget.left)
        blocks = align(left, right, tried)
        budget.left = tried.left
        if not tried.coarse:
            break
        budget.coarse = True
    return [_run(block, left, right) for block in blocks]


def _run(block: Block, left: Sequence[str], right: Sequence[str]) -> Run:
    if block.op == Op.ADDED:
        return Run(block.op, "".join(right[block.j1 : block.j2]))
    return Run(block.op, "".join(left[block.i1 : block.i2]))


def both_objects(left: Any, right: Any) -> Opened:
    """Return two objects, neither of them empty; None for other values."""
    return (left, right) if left and right and isinstance(left, dict) and isinstance(right, dict) else None


def align_values(
    before: Values, after: Values, opened: Callable[[Any, Any], Opened] = both_objects, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Yield the values at each path of two objects, equal ones too; ABSENT on the side that has none there."""
    for name in {**before, **after}:
        left, right = before.get(name, ABSENT), after.get(name, ABSENT)
        if inner := opened(left, right):
            yield from align_values(*inner, opened, (*path, name))
        else:
            yield (*path, name), left, right
