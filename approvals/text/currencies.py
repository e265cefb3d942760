"""Which values of an input name the currency of its amounts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: Parts of names that name a currency, in lower case.
_NAMES = ("currency", "currencies", "ccy", "währung", "waehrung")
#: Codes (ISO 4217) that mean nothing else where all values at one place are among them.
_CODES = re.compile(
    "AED|ARS|AUD|BDT|BGN|BHD|BRL|CAD|CHF|CLP|CNH|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JOD|JPY|KES|KRW|KWD|KZT"
    "|LKR|MAD|MXN|MYR|NGN|NOK|NZD|OMR|PEN|PHP|PKR|PLN|QAR|RON|RSD|RUB|SAR|SEK|SGD|THB|TND|TRY|TWD|UAH|USD|UYU|VND|XAF|XOF|ZAR"
)
_CODE = re.compile(r"[A-Za-z]{3}", re.ASCII)


def are_currencies(name: str, values: Sequence[Any]) -> bool:
    """Return whether what several inputs have at one place are currencies, by the name of the member or by the values."""
    if any(each in name.lower() for each in _NAMES):
        return all(isinstance(value, str) for value in values)
    return bool(values) and all(isinstance(value, str) and _CODES.fullmatch(value) for value in values)


def currency_code(value: str) -> str:
    """Return a currency in the one spelling by which amounts are added up."""
    text = value.strip()
    return text.upper() if _CODE.fullmatch(text) else text
