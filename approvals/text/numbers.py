"""Numbers as people read them."""

from __future__ import annotations

from decimal import Decimal

from django.utils.formats import number_format


def grouped(number: int | Decimal) -> str:
    """Return a number with the separators of the reader's language."""
    return number_format(number, force_grouping=True)
