"""Equality of two values, undefined across types.

`same_json` says that 1 and "1" differ. That is not enough for a rule: a call with the amount "50000" must not bypass a rule about
numbers. So values of different types, at any depth, are neither equal nor different.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def equal(left: Any, right: Any) -> bool | None:
    """Return whether two values are equal; None if that depends on a comparison across types.

    Objects with different members, lists of different length, and values that differ within one type are different, whatever else
    they contain.
    """
    kind = _kind(left)
    if kind is not _kind(right):
        return None
    if kind is dict:
        return left.keys() == right.keys() and every(
            equal(value, right[name]) for name, value in left.items()
        )
    if kind is list:
        return len(left) == len(right) and every(map(equal, left, right))
    return bool(left == right)


def one_of(value: Any, wanted: Iterable[Any]) -> bool | None:
    """Return whether a value equals one of these; None if it equals none, but is not clearly different from all."""
    answer: bool | None = False
    for each in wanted:
        same = equal(value, each)
        if same:
            return True
        answer = None if same is None else answer
    return answer


def every(answers: Iterable[bool | None]) -> bool | None:
    """Return the conjunction: False if any answer is False, else None if any is None, else True."""
    together: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        together = None if answer is None else together
    return together


def _kind(value: Any) -> type:
    """Return the JSON type of a value; all numbers have one type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    if isinstance(value, Mapping):
        return dict
    return list if isinstance(value, list | tuple) else type(value)
