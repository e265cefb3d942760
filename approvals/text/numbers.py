"""Numbers as people read and type them, and numbers in JSON values."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django.utils.formats import get_format, number_format

#: Amounts as text, the recommended form for clients.
_AMOUNT = re.compile(r"-?\d{1,30}\.\d{1,30}", re.ASCII)
#: Separators of groups of three digits in any language: commas, points, spaces and apostrophes.
_GROUPED = re.compile(
    r"-?[1-9]\d{0,2}(?P<group>[.,'\u2019 \u00a0\u2009\u202f])\d{3}(?P<more>(?:(?P=group)\d{3})*)(?P<fraction>[.,]\d+)?",
    re.ASCII,
)
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:[.,]\d+)?(?:[eE][-+]?\d+)?", re.ASCII)


class AmbiguousNumber(ValueError):
    """A typed number, such as `1.500`, whose separator groups digits in this language and is a decimal point in another."""


def typed_number(text: str) -> str | None:
    """Return a typed number in JSON form; None if it is no number. Raise AmbiguousNumber.

    It is parsed with the separators of the page's language. A text that two languages accept means the same number in both: a
    single separator before three digits is the page's decimal separator, or ambiguous.
    """
    text = text.strip()
    grouped_digits = _GROUPED.fullmatch(text)
    if grouped_digits is None:
        return text.replace(",", ".") if _PLAIN.fullmatch(text) else None
    group = grouped_digits["group"]
    fraction = grouped_digits["fraction"] or ""
    if fraction[:1] == group:
        return None
    if group in ",." and not (fraction or grouped_digits["more"]):
        if group == decimal_separator():
            return text.replace(group, ".")
        raise AmbiguousNumber(text)
    whole = text.removesuffix(fraction).replace(group, "")
    return whole + fraction.replace(",", ".")


def as_typed(number: str) -> str:
    """Return a JSON number as a person would type it on this page: with its decimal separator, without grouping."""
    return number.replace(".", decimal_separator())


def decimal_separator() -> str:
    """Return the decimal separator of the page's language: a comma or a point."""
    return "," if get_format("DECIMAL_SEPARATOR") == "," else "."


def grouped(number: int | Decimal) -> str:
    """Return a number with the separators of the reader's language."""
    return number_format(number, force_grouping=True)


def number_in(value: Any) -> Decimal | None:
    """Return the number in a JSON value that is a number or an amount as text; None for other values."""
    match value:
        case bool():
            return None
        case int() | float():
            return Decimal(repr(value))
        case str() if _AMOUNT.fullmatch(value):
            return Decimal(value)
        case _:
            return None
