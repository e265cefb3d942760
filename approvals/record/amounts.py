"""The amount of an input, used to filter the audit log: the number at a JSON pointer.

JSON numbers are doubles, also in canonical form, so a double column stores them exactly on both databases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from approvals.db.json_pointer import ABSENT, value_at
from approvals.policy.asks import Asking

#: Pointer to the amount, unless one of the tool's key fields is a number.
DEFAULT = "/amount"
#: A plain decimal number as text; longer ones are probably account numbers.
DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
#: Names of members that hold amounts.
_AMOUNT = re.compile(r"amount|total|price|cost|sum(?!mary)|betrag", re.IGNORECASE)
#: Longer pointers are not stored with a request, and forms reject them.
MAX_POINTER = 200


def amount_at(value: Any, pointer: str | None) -> float | None:
    """Return the number at a pointer (default: DEFAULT); under the name of an amount, parse text as well."""
    pointer = pointer or DEFAULT
    item = value_at(value, pointer)
    if isinstance(item, str) and DECIMAL.fullmatch(item) and _names_amount(pointer):
        return float(item)
    if isinstance(item, bool) or not isinstance(item, int | float):
        return None
    try:
        return float(item) if math.isfinite(item) else None
    except OverflowError:
        return None


def _names_amount(pointer: str) -> bool:
    return _AMOUNT.search(pointer.rpartition("/")[2]) is not None


def amount_pointer(value: Any, key_fields: Iterable[str]) -> str | None:
    """Return the first of these pointers that points to a number, or that has the name of an amount.

    Return None if it is DEFAULT, or if there is none. An amount sent as text or in another type cannot hide behind a smaller
    number elsewhere: it is parsed, or counts as missing.
    """
    usable = (pointer for pointer in key_fields if 0 < len(pointer) <= MAX_POINTER)
    first = next((pointer for pointer in usable if _is_amount(value, pointer)), None)
    return None if first == DEFAULT else first


def amount_under(
    askings: Sequence[Asking], value: Mapping[str, Any], key_fields: Sequence[str]
) -> tuple[str | None, float | None]:
    """Return the pointer to the amount of an input, and the amount; with several rules, the largest amount.

    `askings` are the rules' ways of asking, `key_fields` those of the tool. A missing amount is over every limit.
    """
    pointers = [
        amount_pointer(value, asking.key_fields or key_fields) for asking in askings
    ]
    amounts = [(pointer, amount_at(value, pointer)) for pointer in pointers]
    return max(
        amounts,
        key=lambda candidate: math.inf if candidate[1] is None else candidate[1],
    )


def _is_amount(value: Any, pointer: str) -> bool:
    if _names_amount(pointer):
        return value_at(value, pointer) is not ABSENT
    return amount_at(value, pointer) is not None
