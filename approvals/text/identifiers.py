"""Which values of an input only tell calls of one kind apart, such as the number of an order. Recipients are never among them."""

from __future__ import annotations

import re
from typing import Any

#: Longer texts say something.
MAX_IDENTIFIER = 64
#: Words at the end of a name that make its value an identifier.
_IDENTIFIERS = re.compile("id|uuid|guid|ref|reference|nonce")
#: What is numbered, in names such as `order_number`: the number of a card or an account is a recipient.
_NUMBERED = re.compile(
    "booking|call|case|delivery|incident|invoice|issue|item|job|line|message|order|purchase|request|row|run|sequence|shipment|step"
    "|task|ticket|transaction"
)
_NUMBERS = re.compile("number|no|nr|num")
#: Words of names whose values say who or where, whatever else is in the name.
_RECIPIENTS = re.compile(
    "account|address|bank|beneficiary|bic|card|channel|chat|client|contact|customer|destination|device|domain|email|employee|group"
    "|host|iban|mail|member|owner|payee|person|phone|recipient|role|team|tenant|to|user"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VALUE = re.compile(r"[A-Za-z0-9#:_-]+", re.ASCII)


def is_identifier(name: str, value: Any) -> bool:
    """Return whether a member of an object is an identifier, by its name and the look of its value."""
    if isinstance(value, str):
        if len(value) > MAX_IDENTIFIER or not _VALUE.fullmatch(value):
            return False
    elif not isinstance(value, int) or isinstance(value, bool):
        return False
    return names_identifier(name)


def names_identifier(name: str) -> bool:
    """Return whether the name of a member says that its value is an identifier, and not that of a recipient."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or any(map(_RECIPIENTS.fullmatch, words)):
        return False
    if _IDENTIFIERS.fullmatch(words[-1]):
        return True
    return len(words) > 1 and bool(_NUMBERS.fullmatch(words[-1]) and _NUMBERED.fullmatch(words[-2]))
