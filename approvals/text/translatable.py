"""Sentences and errors that are translated for display, for modules that do not depend on Django."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


def gettext_noop(text: str) -> str:
    """Mark a text for translation and return it unchanged."""
    return text


class Count(int):
    """A number in a sentence. `str()` has English separators, `translated` those of the reader."""

    def __str__(self) -> str:
        return f"{int(self):,}"


class TranslatableError(Exception):
    """An error with a text and the values of its placeholders; `str()` is the English sentence.

    `approvals.text.translation.translated` returns the sentence in the current language.
    """

    def __init__(self, text: str = "", **values: Any) -> None:
        self.text = text
        self.values = values
        super().__init__(text % values if values else text)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text and the values of its placeholders, which may be sentences too.

    `str()` is the English sentence, `translated` the one for a person.
    """

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text % self.values if self.values else self.text
