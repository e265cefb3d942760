"""Unambiguous JSON: no duplicate names in an object, and no NaN or Infinity."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Parse JSON. Raise ValueError for everything that another parser could refuse or read differently."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise ValueError("It is nested too deeply.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"It has the name {repeated!r} twice.")
    return members


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON.")
