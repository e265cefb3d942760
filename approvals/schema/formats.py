"""The `format`s that are checked; JSON Schema treats the others as annotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

#: A username of this desk, which is checked where an answer is stored.
PERSON = "person"
#: The annotation of amounts with their currency (ISO 4217).
CURRENCY = "x-currency"
#: How deep currencies are looked for in the objects of a schema.
MAX_LEVELS = 4
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
# Each takes linear time.
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


def matches_format(name: str, text: str) -> bool:
    """Return whether a text is a `date`, `date-time` (RFC 3339), `email` or `uri`; True for any other format."""
    check = FORMATS.get(name)
    return check is None or check(text)


def currency_of(schema: Mapping[str, Any]) -> str:
    """Return the currency of the amounts that a schema describes; empty if it names none."""
    code = schema.get(CURRENCY)
    return code if isinstance(code, str) and _CURRENCY.fullmatch(code) else ""


def currencies_in(schema: Mapping[str, Any] | None, levels: int = MAX_LEVELS) -> dict[str, str]:
    """Return the currencies of the amounts in an object and in the objects within it, by the names on the way to each."""
    currencies: dict[str, str] = {}
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return currencies
    for name, below in properties.items():
        if not isinstance(below, Mapping):
            continue
        if currency := currency_of(below):
            currencies[name] = currency
        if levels:
            currencies |= {f"{name}.{inner}": code for inner, code in currencies_in(below, levels - 1).items()}
    return currencies


def _is_day(text: str) -> bool:
    return _DAY.fullmatch(text) is not None and _parses(date.fromisoformat, text)


def _is_moment(text: str) -> bool:
    if _MOMENT.fullmatch(text) is None:
        return False
    # Python 3.11 reads at most six digits of a second, and no leap second.
    plain = re.sub(r"(\.\d{1,6})\d*", r"\1", text.upper(), count=1)
    plain = re.sub(r"(T\d\d:\d\d):60", r"\1:59", plain)
    return _parses(datetime.fromisoformat, plain)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_day,
    "date-time": _is_moment,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uri": lambda text: _URI.fullmatch(text) is not None,
}
