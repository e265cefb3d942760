"""Errors whose text is translated where people read it, for modules that know no Django."""

from __future__ import annotations

from typing import Any


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it unchanged."""
    return text


class TranslatableError(Exception):
    """An error with a text and the values of its placeholders; `str()` is the English sentence.

    `approvals.text.translation.translated` returns the sentence in the current language.
    """

    def __init__(self, text: str = "", **values: Any) -> None:
        self.text, self.values = text, values
        super().__init__(text % values if values else text)
