"""Checkpoints as differences: each keeps the first parts of the one before it and adds a tail. Pure.

Otherwise a turn with n pauses would store its first parts n times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

Parts = list[dict[str, Any]]


class Difference(Protocol):
    """What `TurnCheckpoint` stores."""

    kept: int
    tail: Parts


def difference(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> tuple[int, Parts]:
    """Return the number of leading parts that are the same, and all parts after them."""
    kept = 0
    while kept < min(len(before), len(after)) and _same(before[kept], after[kept]):
        kept += 1
    return kept, list(after[kept:])


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two parts are equal as JSON; in Python, `True == 1`."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def fold(checkpoints: Iterable[Difference]) -> Parts:
    """Return the parts at the last of these checkpoints, which are all of a message's up to it, in order."""
    parts: Parts = []
    for checkpoint in checkpoints:
        parts = parts[: checkpoint.kept] + list(checkpoint.tail)
    return parts
