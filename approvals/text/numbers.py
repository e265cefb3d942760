"""Numbers as people read and type them, and numbers in JSON values."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from django.utils.formats import get_format, number_format

#: Money as text, which is how clients should send it.
_AMOUNT = re.compile(r"-?\d{1,30}\.\d{1,30}", re.ASCII)
#: What may stand between groups of three digits, in any language: commas, points, spaces and apostrophes.
_GROUPED = re.compile(
    r"-?[1-9]\d{0,2}(?P<group>[.,'\u2019 \u00a0\u2009\u202f])\d{3}(?P<more>(?:(?P=group)\d{3})*)(?P<fraction>[.,]\d+)?",
    re.ASCII,
)
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:[.,]\d+)?(?:[eE][-+]?\d+)?", re.ASCII)


class AmbiguousNumber(ValueError):
    """A typed number, such as `1.500`, whose mark groups digits on this page and begins the decimals on another."""


def typed_number(text: str) -> str | None:
    """Return a number that a person typed, as JSON writes it; None if it is no number. Raise AmbiguousNumber.

    It is read by the separators of the page. Whatever two languages accept, they read as the same number: one mark before three
    digits is the decimal separator of the page, or ambiguous.
    """
    text = text.strip()
    grouped_digits = _GROUPED.fullmatch(text)
    if grouped_digits is None:
        return text.replace(",", ".") if _PLAIN.fullmatch(text) else None
    group, fraction = grouped_digits["group"], grouped_digits["fraction"] or ""
    if fraction[:1] == group:
        return None
    if group in ",." and not (fraction or grouped_digits["more"]):
        if group == decimal_separator():
            return text.replace(group, ".")
        raise AmbiguousNumber(text)
    whole = text.removesuffix(fraction).replace(group, "")
    return whole + fraction.replace(",", ".")


def as_typed(number: str) -> str:
    """Return a number of JSON as a person would type it on this page: with its decimal separator, and without groups."""
    return number.replace(".", decimal_separator())


def decimal_separator() -> str:
    """Return the decimal separator of the page: a comma or a point."""
    return "," if get_format("DECIMAL_SEPARATOR") == "," else "."


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
