"""The differences between two sequences, with bounded work. No Django.

This is Myers' algorithm for the shortest edit script. Its work grows with the square of the number of differences, so every
comparison has a budget; beyond it, the remaining parts are compared as a whole, and `Budget.coarse` says so.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

#: Steps of work for everything that one page compares, and for one pair of sequences.
WORK, SHARE = 1_000_000, 200_000
#: Texts with more words are compared by line.
MAX_WORDS = 20_000
_WORD = re.compile(r"\S+\s*|\s+")


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
    """How many steps of work are left. `coarse` says that something was compared as a whole because they ran out."""

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
    found = _shortest(left[start:n], right[start:m], budget) if start < n and start < m else []
    if found is None:
        budget.coarse = True
        found = []
    at, to = start, start
    for i, j, length in [*found, (n - start, m - start, end)]:
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
    """Return the shared stretches as (index on the left, index on the right, length); None if the budget runs out."""
    n, m = len(left), len(right)
    allowed = min(budget.left, SHARE)
    furthest, rounds = {1: 0}, []
    for d in range(n + m + 1):
        low, high = -d + 2 * max(0, d - m), d - 2 * max(0, d - n)
        for k in range(low, high + 1, 2):
            x = start = _reached(furthest.get(k - 1, -1), furthest.get(k + 1, -1))
            while x < n and x - k < m and left[x] == right[x - k]:
                x += 1
            furthest[k] = x
            allowed -= 2 + x - start
            budget.left -= 2 + x - start
        # Store a round as (lowest diagonal, furthest x of every second diagonal), as numbers to save memory.
        rounds.append((low, array("q", [furthest[k] for k in range(low, high + 1, 2)])))
        if furthest.get(n - m, -1) >= n and (n - m - low) % 2 == 0:
            return _walk_back(rounds, n, m)
        if allowed <= 0 or budget.left <= 0:
            return None
    return None


def _reached(from_left: int, from_above: int) -> int:
    """Return where a diagonal begins: after removing an item on the left or adding one on the right."""
    return from_above if from_left < from_above else from_left + 1


def _walk_back(rounds: Sequence[tuple[int, array[int]]], n: int, m: int) -> list[tuple[int, int, int]]:
    shared: list[tuple[int, int, int]] = []
    x, y = n, m
    for low, reached in rounds[-2::-1]:
        k = x - y
        known = dict(zip(range(low, low + 2 * len(reached), 2), reached, strict=True))
        left, above = known.get(k - 1, -1), known.get(k + 1, -1)
        start = _reached(left, above)
        if x > start:
            shared.append((start, start - k, x - start))
        x, y = (above, above - k - 1) if left < above else (left, left - k + 1)
    if x:
        shared.append((0, 0, x))
    return shared[::-1]


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
