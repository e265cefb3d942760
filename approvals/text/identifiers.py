"""Recognize values that only identify a call, such as an order number. Recipients are never identifiers."""

from __future__ import annotations

import re
from typing import Any

#: Longer texts carry meaning.
MAX_IDENTIFIER = 64
#: Last words of a name that make its value an identifier.
_IDENTIFIERS = re.compile("id|uuid|guid|ref|reference|nonce")
#: Numbered things, in names such as `order_number`; card and account numbers are recipients.
_NUMBERED = re.compile(
    "booking|call|case|delivery|incident|invoice|issue|item|job|line|message|order|purchase|request|row|run|sequence|shipment|step"
    "|task|ticket|transaction"
)
_NUMBERS = re.compile("number|no|nr|num")
#: Words in names of recipients and places, which override the rest of the name.
_RECIPIENTS = re.compile(
    "account|address|bank|beneficiary|bic|card|channel|chat|client|contact|customer|destination|device|domain|email|employee|group"
    "|host|iban|mail|member|owner|payee|person|phone|recipient|role|team|tenant|to|user"
)
#: Words in names of numbers that count nothing.
_CODES = re.compile(
    "code|epoch|fax|key|number|no|nr|num|pid|pin|plz|port|postal|postcode|seed|serial|time|timestamp|version|year|zip"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VALUE = re.compile(r"[A-Za-z0-9#:_-]+", re.ASCII)


def is_identifier(name: str, value: Any) -> bool:
    """Return whether a member of an object is an identifier, by its name and the form of its value."""
    if isinstance(value, str):
        if len(value) > MAX_IDENTIFIER or not _VALUE.fullmatch(value):
            return False
    elif not isinstance(value, int) or isinstance(value, bool):
        return False
    return names_identifier(name)


def names_identifier(name: str) -> bool:
    """Return whether a member's name is that of an identifier and not of a recipient."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or any(map(_RECIPIENTS.fullmatch, words)):
        return False
    if _IDENTIFIERS.fullmatch(words[-1]):
        return True
    return len(words) > 1 and bool(
        _NUMBERS.fullmatch(words[-1]) and _NUMBERED.fullmatch(words[-2])
    )


def counts_something(name: str) -> bool:
    """Return whether the number of a member can be a quantity, by its name: not that of an identifier, a code or a person."""
    words = [word.lower() for word in _WORD.findall(name)]
    others = (_IDENTIFIERS, _NUMBERED, _RECIPIENTS, _CODES)
    return bool(words) and not any(
        pattern.fullmatch(word) for pattern in others for word in words
    )
