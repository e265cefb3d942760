"""Types of values in a match, which texts and numbers must satisfy before they are compared.

A type leaves no room for interpretation: a text that one program reads as one address and another as two belongs to no type.
Comparison is case-sensitive, except for hosts and the domains of addresses.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Any


class ValueType(StrEnum):
    """A type of value."""

    ADDRESS = "address"
    ADDRESSES = "addresses"
    AMOUNT = "amount"
    PATH = "path"
    HOST = "host"
    LINE = "line"
    TEXT = "text"


#: Maximum length of an address, of a host and of a path.
MAX_ADDRESS = 254
MAX_HOST = 253
MAX_PATH = 1_000
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
#: The part before the @, without quotes, comments and dots, on which mail servers disagree.
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_ADDRESS = re.compile(rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL})+")
_HOST = re.compile(_NAME)
#: One part of a path, without other systems' separators, drives, patterns, or anything a shell or server would substitute.
_PART = re.compile(r"[\w.@+=,()# -]+")
#: Characters that some program treats as a line break, and all other control characters.
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: Patterns: a star stands for the whole local part or its beginning, and in a domain only for whole labels.
_DOMAIN_PATTERN = re.compile(rf"(?:\*\.)?{_NAME}")
_LOCAL_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+")


def is_of(kind: ValueType, value: Any) -> bool:
    """Return whether a value is of a type."""
    match kind:
        case ValueType.ADDRESS:
            return (
                isinstance(value, str)
                and len(value) <= MAX_ADDRESS
                and _ADDRESS.fullmatch(value) is not None
            )
        case ValueType.ADDRESSES:
            return (
                isinstance(value, list)
                and bool(value)
                and all(is_of(ValueType.ADDRESS, item) for item in value)
            )
        case ValueType.AMOUNT:
            return is_number(value) and value >= 0
        case ValueType.PATH:
            return isinstance(value, str) and _is_path(value)
        case ValueType.HOST:
            return (
                isinstance(value, str)
                and len(value) <= MAX_HOST
                and _HOST.fullmatch(value) is not None
            )
        case ValueType.LINE:
            return isinstance(value, str) and not _BREAKS.search(value)
        case ValueType.TEXT:
            return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Return whether a value is a comparable number: finite, and not a boolean."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def items_of(kind: ValueType, value: Any) -> Sequence[Any]:
    """Return the items of a value of this type that a test compares, normalized."""
    items = value if kind == ValueType.ADDRESSES else [value]
    return [compared(kind, item) for item in items]


def compared(kind: ValueType, item: Any) -> Any:
    """Return an item in the form in which values of this type are compared: domains and hosts in lower case."""
    if kind == ValueType.HOST:
        return item.lower()
    if kind in {ValueType.ADDRESS, ValueType.ADDRESSES}:
        local, _at, domain = item.rpartition("@")
        return f"{local}@{domain.lower()}"
    return item


def item_type(kind: ValueType) -> ValueType:
    """Return the type of each item that a test compares."""
    return ValueType.ADDRESS if kind == ValueType.ADDRESSES else kind


def is_pattern(kind: ValueType, text: str) -> bool:
    """Return whether a pattern is valid for values of this type: in addresses and hosts, a star stands for whole labels.

    `*ourcompany.com` would match `evil-ourcompany.com`.
    """
    if kind == ValueType.HOST:
        return _DOMAIN_PATTERN.fullmatch(text) is not None
    if item_type(kind) == ValueType.ADDRESS:
        local, _at, domain = text.rpartition("@")
        return bool(
            _LOCAL_PATTERN.fullmatch(local) and _DOMAIN_PATTERN.fullmatch(domain)
        )
    return kind in {ValueType.PATH, ValueType.LINE, ValueType.TEXT}


def _is_path(text: str) -> bool:
    """Return whether a text is one path that only descends, and means the same to every program."""
    parts = text.removeprefix("/").removesuffix("/").split("/")
    # Some programs turn full-width characters into dots and slashes.
    plain = len(text) <= MAX_PATH and unicodedata.normalize("NFKC", text) == text
    return plain and all(
        _PART.fullmatch(part) and part == part.strip(" ") and part.strip(". ")
        for part in parts
    )
