"""Number fields of settings, which accept the separators of the page's language."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from approvals.text.numbers import AmbiguousNumber, typed_number


class NumberField(forms.FloatField):
    """A number. A browser would parse a field of the type `number` in its own language instead of the page's."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.widget.is_localized = True

    def to_python(self, value: Any) -> Any:
        return super().to_python(_typed(self, value))


class WholeNumberField(forms.IntegerField):
    """A whole number; neither `1.000` nor `1,000` is read as 1 where it may mean a thousand."""

    widget = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})

    def to_python(self, value: Any) -> Any:
        return super().to_python(_typed(self, value))


def _typed(field: forms.IntegerField, value: Any) -> Any:
    """Return a typed number in program format; other types unchanged."""
    if not isinstance(value, str) or value in field.empty_values:
        return value
    try:
        number = typed_number(value)
    except AmbiguousNumber as error:
        message = _("This number is ambiguous. Write it without a thousands separator.")
        raise ValidationError(message, code="invalid") from error
    if number is None:
        raise ValidationError(field.error_messages["invalid"], code="invalid")
    return number
