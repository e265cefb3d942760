"""The types of values in a match: what a text or a number has to be before anything else is compared.

A type leaves nothing to the tool that gets the value: what one program takes for one address and another for two is of no type.
Letters are compared as they are, but for the domain of an address and a host, where upper and lower case are one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Any


class ValueType(StrEnum):
    """What a value can be."""

    ADDRESS = "address"
    ADDRESSES = "addresses"
    AMOUNT = "amount"
    PATH = "path"
    HOST = "host"
    LINE = "line"
    TEXT = "text"


#: Characters of an address, of a host and of a path.
MAX_ADDRESS, MAX_HOST, MAX_PATH = 254, 253, 1_000
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
#: The part before the @ without quotes, comments and dots that no mail server agrees on.
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_ADDRESS = re.compile(rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL})+")
_HOST = re.compile(_NAME)
#: One part of a path: no separators of other systems, drives, patterns, or anything that a shell or a server would replace.
_PART = re.compile(r"[\w.@+=,()# -]+")
#: What ends a line somewhere, and every other control character.
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: Patterns: a star stands for the whole name, or for the beginning of it, and in a domain only for whole labels.
_DOMAIN_PATTERN = re.compile(rf"(?:\*\.)?{_NAME}")
_LOCAL_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+")


def is_of(kind: ValueType, value: Any) -> bool:
    """Return whether a value is of a type."""
    match kind:
        case ValueType.ADDRESS:
            return isinstance(value, str) and len(value) <= MAX_ADDRESS and _ADDRESS.fullmatch(value) is not None
        case ValueType.ADDRESSES:
            return isinstance(value, list) and bool(value) and all(is_of(ValueType.ADDRESS, item) for item in value)
        case ValueType.AMOUNT:
            return is_number(value) and value >= 0
        case ValueType.PATH:
            return isinstance(value, str) and _is_path(value)
        case ValueType.HOST:
            return isinstance(value, str) and len(value) <= MAX_HOST and _HOST.fullmatch(value) is not None
        case ValueType.LINE:
            return isinstance(value, str) and not _BREAKS.search(value)
        case ValueType.TEXT:
            return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Return whether a value is a number that can be compared: no boolean, and nothing that is not finite."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def items_of(kind: ValueType, value: Any) -> Sequence[Any]:
    """Return what a test compares of a value of this type, in the form in which it is compared."""
    items = value if kind == ValueType.ADDRESSES else [value]
    return [compared(kind, item) for item in items]


def compared(kind: ValueType, item: Any) -> Any:
    """Return one value in the form in which values of this type are compared: domains and hosts in lower case."""
    if kind == ValueType.HOST:
        return item.lower()
    if kind in {ValueType.ADDRESS, ValueType.ADDRESSES}:
        local, _at, domain = item.rpartition("@")
        return f"{local}@{domain.lower()}"
    return item


def item_type(kind: ValueType) -> ValueType:
    """Return the type of each value that a test compares."""
    return ValueType.ADDRESS if kind == ValueType.ADDRESSES else kind


def is_pattern(kind: ValueType, text: str) -> bool:
    """Return whether a pattern can be meant for values of this type: one for addresses or hosts names whole labels.

    `*ourcompany.com` would fit `evil-ourcompany.com`.
    """
    if kind == ValueType.HOST:
        return _DOMAIN_PATTERN.fullmatch(text) is not None
    if item_type(kind) == ValueType.ADDRESS:
        local, at, domain = text.rpartition("@")
        return bool(at and _LOCAL_PATTERN.fullmatch(local) and _DOMAIN_PATTERN.fullmatch(domain))
    return kind in {ValueType.PATH, ValueType.LINE, ValueType.TEXT}


def _is_path(text: str) -> bool:
    """Return whether a text is one path that goes only down, and means the same wherever it is read."""
    parts = text.removeprefix("/").removesuffix("/").split("/")
    # Letters in other widths become dots and slashes in some programs.
    plain = len(text) <= MAX_PATH and unicodedata.normalize("NFKC", text) == text
    return plain and all(_PART.fullmatch(part) and part == part.strip(" ") and part.strip(". ") for part in parts)
