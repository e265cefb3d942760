"""Values as the texts of their fields, and the values of these texts."""

from __future__ import annotations

import json
import re
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking.answers import ABSENT
from approvals.db.canonical_json import NotCanonical, canonical, parse
from approvals.forms.fields import SECRET, FormControl, Widget
from approvals.forms.limits import number_text
from approvals.text.numbers import AmbiguousNumber, as_typed, typed_number
from approvals.text.secrets import Hidden
from approvals.text.translation import translated

#: An amount of money in text.
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)


def index_of(control: FormControl, value: Any) -> int | None:
    """Return the index of a value among the offers; None if it is not one of them."""
    wanted = canonical(value)
    return next(
        (
            index
            for index, offer in enumerate(control.offers)
            if canonical(offer.value) == wanted
        ),
        None,
    )


def text_for(control: FormControl, value: Any) -> str:
    """Return a value as the text of its field."""
    if value is ABSENT or (value is None and control.widget != Widget.JSON):
        return ""
    if control.input_type == SECRET and isinstance(value, Hidden):
        return ""
    if control.widget == Widget.NUMBER:
        return number_text(value)
    if control.unit and isinstance(value, str) and _AMOUNT.fullmatch(value):
        return as_typed(value)
    if control.widget == Widget.CHOICE:
        return str(index_of(control, value))
    if control.widget == Widget.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    return (
        str(value).removesuffix("Z")
        if control.input_type == "datetime-local"
        else str(value)
    )


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raise NotCanonical with the position of the error."""
    if not text.strip():
        raise NotCanonical(_("is missing"))
    try:
        return parse(text)
    except NotCanonical as error:
        if isinstance(error.__cause__, json.JSONDecodeError):
            at = {"line": error.__cause__.lineno, "column": error.__cause__.colno}
            raise NotCanonical(
                _("is not valid JSON: look at line %(line)s, column %(column)s") % at
            ) from error
        raise NotCanonical(
            _("cannot be used: %(reason)s") % {"reason": translated(error)}
        ) from error


def parse_number(text: str) -> int | float:
    """Return a typed number. Raise NotCanonical with instructions."""
    typed = _typed(text)
    if typed is None:
        raise NotCanonical(_("must be a number"))
    try:
        value: int | float = parse(typed)
    except NotCanonical as error:
        raise NotCanonical(_("is too large or too precise for a number")) from error
    return value


def parse_amount(text: str) -> str:
    """Return a typed amount of money in program format; other text unchanged. Raise NotCanonical."""
    return _typed(text) or text


def _typed(text: str) -> str | None:
    try:
        return typed_number(text)
    except AmbiguousNumber as error:
        raise NotCanonical(
            _("is ambiguous; write it without a thousands separator")
        ) from error
