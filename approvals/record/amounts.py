"""The amount of an input, by which the audit log can be filtered: a number at a JSON pointer.

A number of JSON is a double, in the canonical form too, so a double stores it exactly, on both databases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from approvals.db.json_pointer import value_at

#: Where the amount is, unless one of the tool's key fields is a number.
DEFAULT = "/amount"
#: A plain decimal number as text; longer ones are rather account numbers.
DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
#: Longer pointers are not stored with a request; forms refuse them.
MAX_POINTER = 200


def amount_at(value: Any, pointer: str | None) -> float | None:
    """Return the number at a pointer, by default at DEFAULT, where the text of a decimal number counts too."""
    return _number(value_at(value, pointer or DEFAULT), texts=not pointer)


def _number(value: Any, *, texts: bool) -> float | None:
    if texts and isinstance(value, str) and DECIMAL.fullmatch(value):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def amount_pointer(value: Any, key_fields: Iterable[str]) -> str | None:
    """Return the first of these pointers that points to a number; None if it is DEFAULT, or none does."""
    usable = (pointer for pointer in key_fields if 0 < len(pointer) <= MAX_POINTER)
    first = next((pointer for pointer in usable if amount_at(value, pointer) is not None), None)
    return None if first == DEFAULT else first


def numbers_in(value: Any) -> Iterator[float]:
    """Return every number in a value that can be an amount."""
    values = [value]
    while values:
        match values.pop():
            case dict() as members:
                values += members.values()
            case list() as items:
                values += items
            case leaf if (number := _number(leaf, texts=True)) is not None:
                yield number


def plain(amount: float) -> float | int:
    """Return a whole amount as an integer, as its canonical form has it."""
    return int(amount) if amount.is_integer() and abs(amount) < 2**53 else amount
