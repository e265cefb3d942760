"""JSON values as people type them: one line each, in double quotes where the plain text would be read as another value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from approvals.db.canonical_json import NotCanonical, load
from approvals.db.json_pointer import pointer_parts, pointer_to
from approvals.text.numbers import AmbiguousNumber, as_typed, typed_number

#: Stands for the whole input, whose pointer is empty.
WHOLE_INPUT = "input"
_WORDS = ("true", "false", "null")


def shown_text(text: str) -> str:
    return _shown(text, text_in)


def text_in(line: str) -> str:
    """Return a typed text: a JSON string if it is one, else the text itself."""
    if line.startswith('"'):
        try:
            value = load(line)
        except NotCanonical:
            return line
        if isinstance(value, str):
            return value
    return line


def shown_value(value: Any) -> str:
    if isinstance(value, str):
        return _shown(value, value_in)
    text = json.dumps(value, ensure_ascii=False)
    return text if isinstance(value, bool | list | dict) else as_typed(text)


def value_in(line: str) -> Any:
    """Return a typed JSON value; what is no number, word or JSON is text. Raise ValidationError."""
    if line in _WORDS or line.startswith(('"', "[", "{")):
        try:
            return load(line)
        except NotCanonical as error:
            message = _("“%(value)s” is not valid JSON. Put text in double quotes.")
            raise ValidationError(message, params={"value": line[:60]}) from error
    try:
        number = typed_number(line)
    except AmbiguousNumber as error:
        message = _("This number is ambiguous. Write it without a thousands separator.")
        raise ValidationError(message) from error
    return line if number is None else json.loads(number)


def number_in(line: str) -> Any:
    """Return a typed number. Raise ValidationError."""
    value = value_in(line)
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = _("“%(value)s” is not a number. Enter one such as 100 or 2.5.")
        raise ValidationError(message, params={"value": line[:60]})
    return value


def shown_pointer(pointer: str) -> str:
    """Return a JSON pointer as a name such as `customer.country`, where that is read as the same pointer."""
    name = ".".join(pointer_parts(pointer)) or WHOLE_INPUT
    return (
        name
        if name.isprintable() and pointer_in(name) == pointer
        else shown_text(pointer)
    )


def pointer_in(line: str) -> str:
    """Return the JSON pointer for a typed name or pointer."""
    text = text_in(line.strip())
    if text.startswith("/"):
        return text
    return "" if text == WHOLE_INPUT else pointer_to(*text.split("."))


def in_lines(items: Iterable[Any], shown: Callable[[Any], str] = shown_text) -> str:
    return "\n".join(map(shown, items))


def lines_in(text: str, read: Callable[[str], Any] = text_in) -> list[Any]:
    """Return the values in the non-empty lines of a text."""
    return [read(line.strip()) for line in text.split("\n") if line.strip()]


class TextField(forms.CharField):
    """Optional text whose line breaks are those of the document, not those of the browser."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, **options})

    def to_python(self, value: Any) -> str:
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n").replace("\r", "\n")


class LinesField(TextField):
    """A list with one item a line."""

    def __init__(
        self, *, read: Callable[[str], Any] = text_in, rows: int = 2, **options: Any
    ) -> None:
        self.read = read
        attributes = {"rows": rows, "spellcheck": "false", "autocapitalize": "none"}
        super().__init__(widget=forms.Textarea(attrs=attributes), **options)

    def clean(self, value: Any) -> list[Any]:
        return lines_in(super().clean(value), self.read)


def _shown(text: str, read: Callable[[str], Any]) -> str:
    """Return a text as it is, or as a JSON string if it would be read as another value."""
    try:
        is_plain = (
            text.isprintable() and text.strip() == text != "" and read(text) == text
        )
    except ValidationError:
        is_plain = False
    return text if is_plain else json.dumps(text, ensure_ascii=False)
