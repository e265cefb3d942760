"""The amount of an input, by which the audit log can be filtered: a number at a JSON pointer.

A number of JSON is a double, in the canonical form too, so a double stores it exactly, on both databases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from approvals.db.json_pointer import ABSENT, value_at
from approvals.policy.asks import Asking

#: Where the amount is, unless one of the tool's key fields is a number.
DEFAULT = "/amount"
#: A plain decimal number as text; longer ones are rather account numbers.
DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
#: Names of members that say that an amount is meant.
_AMOUNT = re.compile(r"amount|total|price|cost|sum(?!mary)|betrag", re.IGNORECASE)
#: Longer pointers are not stored with a request; forms refuse them.
MAX_POINTER = 200


def amount_at(value: Any, pointer: str | None) -> float | None:
    """Return the number at a pointer, by default at DEFAULT; where an amount is named, also that of a text."""
    return _number(value_at(value, pointer or DEFAULT), texts=_names_amount(pointer or DEFAULT))


def _names_amount(pointer: str) -> bool:
    return _AMOUNT.search(pointer.rpartition("/")[2]) is not None


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
    """Return the first of these pointers that points to a number, or to anything if it names an amount.

    None if it is DEFAULT, or none does. Whoever sends an amount as text, or not as a number at all, does not choose a smaller
    number elsewhere: such an amount counts as it says, or as missing.
    """
    usable = (pointer for pointer in key_fields if 0 < len(pointer) <= MAX_POINTER)
    first = next((pointer for pointer in usable if _is_amount(value, pointer)), None)
    return None if first == DEFAULT else first


def amount_under(
    askings: Sequence[Asking], value: Mapping[str, Any], key_fields: Sequence[str]
) -> tuple[str | None, float | None]:
    """Return where the amount of an input is, and the amount: of several rules by that which the limits of fewest people allow.

    `askings` say how each of them asks, and `key_fields` are those of the tool. Without an amount a request is beyond every
    limit.
    """
    pointers = [amount_pointer(value, asking.key_fields or key_fields) for asking in askings]
    amounts = [(pointer, amount_at(value, pointer)) for pointer in pointers]
    return max(amounts, key=lambda candidate: math.inf if candidate[1] is None else candidate[1])


def _is_amount(value: Any, pointer: str) -> bool:
    if _names_amount(pointer):
        return value_at(value, pointer) is not ABSENT
    return amount_at(value, pointer) is not None


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
