"""Whether two values are equal, where a value of another type than is compared gives no answer.

`same_json` says that 1 and "1" differ. For a rule that is not enough: a call with an amount of "50000" must not pass by a rule
that speaks of numbers. So what is compared across types, at any depth, is neither equal nor different.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def equal(left: Any, right: Any) -> bool | None:
    """Return whether two values are equal; None if that depends on what another type would be taken for.

    Objects with other members, lists of another length, and values that differ somewhere within one type are different,
    whatever else is in them.
    """
    kind = _kind(left)
    if kind is not _kind(right):
        return None
    if kind is dict:
        return left.keys() == right.keys() and every(equal(value, right[name]) for name, value in left.items())
    if kind is list:
        return len(left) == len(right) and every(map(equal, left, right))
    return bool(left == right)


def one_of(value: Any, wanted: Iterable[Any]) -> bool | None:
    """Return whether a value is equal to one of these; None if to none for sure, but not different from all."""
    answer: bool | None = False
    for each in wanted:
        same = equal(value, each)
        if same:
            return True
        answer = None if same is None else answer
    return answer


def every(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all answers are yes: no as soon as one is no, and None if one is None and none is no."""
    together: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        together = None if answer is None else together
    return together


def _kind(value: Any) -> type:
    """Return the JSON type of a value; numbers are of one type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    if isinstance(value, Mapping):
        return dict
    return list if isinstance(value, list | tuple) else type(value)
