"""Checkpoints as differences: each keeps the first parts of the one before and adds its tail. Pure.

A turn with n pauses would otherwise store its early parts n times.
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
    """How many leading parts stayed the same, and all parts behind them."""
    kept = 0
    while kept < min(len(before), len(after)) and _same(before[kept], after[kept]):
        kept += 1
    return kept, list(after[kept:])


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Equal as stored: to Python, `True == 1`."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def fold(checkpoints: Iterable[Difference]) -> Parts:
    """The whole parts of the last of these checkpoints, which start with the message's first, in order."""
    parts: Parts = []
    for checkpoint in checkpoints:
        parts = parts[: checkpoint.kept] + list(checkpoint.tail)
    return parts
