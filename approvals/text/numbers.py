"""Numbers as people read them, and numbers in JSON values."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django.utils.formats import number_format

#: Money as text, which is how clients should send it.
_AMOUNT = re.compile(r"-?\d{1,30}\.\d{1,30}", re.ASCII)


def grouped(number: int | Decimal) -> str:
    """Return a number with the separators of the reader's language."""
    return number_format(number, force_grouping=True)


def number_in(value: Any) -> Decimal | None:
    """Return the number that a JSON value is, or that it is an amount in text; None for other values."""
    match value:
        case bool():
            return None
        case int() | float():
            return Decimal(repr(value))
        case str() if _AMOUNT.fullmatch(value):
            return Decimal(value)
        case _:
            return None
