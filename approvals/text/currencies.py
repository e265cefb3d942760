"""Recognize currencies among the values of inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: Parts of member names that indicate a currency, in lower case.
_NAMES = ("currency", "currencies", "ccy", "währung", "waehrung")
#: Unambiguous codes (ISO 4217): values count as currencies if all of them at one place are among these.
_CODES = re.compile(
    "AED|ARS|AUD|BDT|BGN|BHD|BRL|CAD|CHF|CLP|CNH|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JOD|JPY|KES|KRW|KWD|KZT"
    "|LKR|MAD|MXN|MYR|NGN|NOK|NZD|OMR|PEN|PHP|PKR|PLN|QAR|RON|RSD|RUB|SAR|SEK|SGD|THB|TND|TRY|TWD|UAH|USD|UYU|VND|XAF|XOF|ZAR"
)
_CODE = re.compile(r"[A-Za-z]{3}", re.ASCII)


def are_currencies(name: str, values: Sequence[Any]) -> bool:
    """Return whether the values of several inputs at one place are currencies, judging by member name or values."""
    if any(each in name.lower() for each in _NAMES):
        return all(isinstance(value, str) for value in values)
    return bool(values) and all(
        isinstance(value, str) and _CODES.fullmatch(value) for value in values
    )


def currency_code(value: str) -> str:
    """Return a currency in its normalized spelling, used to add up amounts."""
    text = value.strip()
    return text.upper() if _CODE.fullmatch(text) else text


def is_currency_code(value: Any) -> bool:
    """Return whether a value is an unambiguous code of a currency."""
    return isinstance(value, str) and _CODES.fullmatch(value) is not None
