"""The differences between two states of a message: by part, and within tool inputs and outputs by value. No Django."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from approvals.db.canonical_json import same_json
from approvals.json_types import JsonDict, JsonMapping
from approvals.text.alignment import (
    ABSENT,
    Block,
    Op,
    Opened,
    PairBudget,
    align,
    align_values,
)
from approvals.text.secrets import comparable

Part = JsonDict
#: A field of a tool call with more changes is shown as one change.
MAX_CHANGES = 100


@dataclass(frozen=True, slots=True)
class PartPair:
    """A part before and after; None on the side where it is absent."""

    op: Op
    before: Part | None
    after: Part | None


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A change of the value at a path of keys and indexes within a part."""

    path: tuple[str | int, ...]
    op: Op
    before: Any = None
    after: Any = None


def part_rows(
    before: Sequence[Part], after: Sequence[Part], budget: PairBudget
) -> list[PartPair]:
    """Return the parts of both sides in order. Tool calls are matched by id, changed texts by position."""
    rows: list[PartPair] = []
    gone: list[Part] = []
    come: list[Part] = []
    for block in align(_keys(before), _keys(after), budget):
        gone += _taken(before, block.i1, block.i2, block, Op.REMOVED)
        come += _taken(after, block.j1, block.j2, block, Op.ADDED)
        if block.op == Op.SAME:
            rows += _paired(gone, come)
            gone = []
            come = []
            rows += map(_row, before[block.i1 : block.i2], after[block.j1 : block.j2])
    return [*rows, *_paired(gone, come)]


def _taken(
    parts: Sequence[Part], start: int, end: int, block: Block, op: Op
) -> Sequence[Part]:
    return parts[start:end] if block.op == op else ()


def _keys(parts: Sequence[Part]) -> list[tuple[str, str | int]]:
    """Return the key of each part for matching it with the other side."""
    keys: list[tuple[str, str | int]] = []
    steps = 0
    for part in parts:
        kind = str(part.get("type"))
        if kind == "step-start":
            steps += 1
            keys.append((kind, steps))
        elif isinstance(call_id := part.get("toolCallId"), str):
            keys.append(("tool", call_id))
        else:
            keys.append((kind, json.dumps(part, sort_keys=True)))
    return keys


def _row(before: Part, after: Part) -> PartPair:
    same = same_json(comparable(before), comparable(after), exact=True)
    return PartPair(Op.SAME if same else Op.CHANGED, before, after)


def _paired(gone: Sequence[Part], come: Sequence[Part]) -> Iterator[PartPair]:
    """Pair removed and added parts in one place: those of the same type are the same part, changed."""
    waiting = list(come)
    for part in gone:
        kinds = [each.get("type") for each in waiting]
        if "toolCallId" in part or part.get("type") not in kinds:
            yield PartPair(Op.REMOVED, part, None)
            continue
        place = kinds.index(part.get("type"))
        yield from (PartPair(Op.ADDED, None, each) for each in waiting[:place])
        yield _row(part, waiting[place])
        waiting = waiting[place + 1 :]
    yield from (PartPair(Op.ADDED, None, each) for each in waiting)


def value_changes(before: JsonMapping, after: JsonMapping) -> list[ValueDifference]:
    """Return the differences between two JSON objects, down to single values.

    Lists are compared index by index. The order of keys does not matter.
    """
    changes: list[ValueDifference] = []
    for name in {**before, **after}:
        # Stop after one change too many, so that a field with a million changes costs only a hundred.
        sides = ({name: side[name]} if name in side else {} for side in (before, after))
        inner = list(islice(_differing(*sides), MAX_CHANGES + 1))
        changes += (
            inner
            if len(inner) <= MAX_CHANGES
            else [ValueDifference((name,), Op.CHANGED, before[name], after[name])]
        )
    return changes


def _differing(before: JsonMapping, after: JsonMapping) -> Iterator[ValueDifference]:
    for path, left, right in align_values(before, after, _opened):
        if left is ABSENT:
            yield ValueDifference(path, Op.ADDED, after=right)
        elif right is ABSENT:
            yield ValueDifference(path, Op.REMOVED, before=left)
        elif not same_json(comparable(left), comparable(right), exact=True):
            yield ValueDifference(path, Op.CHANGED, left, right)


def _opened(before: Any, after: Any) -> Opened:
    if isinstance(before, list) and isinstance(after, list):
        return dict(enumerate(before)), dict(enumerate(after))
    return (
        (before, after)
        if isinstance(before, dict) and isinstance(after, dict)
        else None
    )
