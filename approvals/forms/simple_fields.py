"""Fields for texts and for values listed in a schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from django.utils.translation import gettext as _

from approvals.forms.fields import SECRET, FormControl, Offer, Widget
from approvals.forms.limits import (
    example_of,
    label_for,
    length_limits,
    text_of,
    unchecked,
)
from approvals.json_types import JsonMapping
from approvals.schema.keywords import CURRENCY, PERSON, currency_of

#: A text that may be longer than this many characters gets a multi-line field.
LONG_TEXT = 200
#: Names of usually multi-line texts, used if the schema does not specify their length.
LONG_NAMES = re.compile(
    r"(?i)text|body|message|note|comment|descri|content|reason|summary|prompt|letter|address|answer"
)
INPUT_TYPES = {
    "password": SECRET,
    "date": "date",
    "date-time": "datetime-local",
    "email": "email",
    "uri": "url",
}


def offers_of(schema: JsonMapping) -> tuple[Offer, ...] | None:
    """Return the values listed in a schema; None if it lists none."""
    if "const" in schema:
        return (Offer(label_for(schema["const"]), schema["const"]),)
    if "enum" in schema:
        return tuple(map(Offer, _labels(schema), schema["enum"]))
    if schema.get("type") == "boolean":
        return Offer(_("Yes"), True), Offer(_("No"), False)
    titled = schema.get("oneOf") or schema.get("anyOf") or ()
    if titled and all(isinstance(item, Mapping) and "const" in item for item in titled):
        return tuple(
            Offer(text_of(item.get("title")) or label_for(item["const"]), item["const"])
            for item in titled
        )
    return None


def _labels(schema: JsonMapping) -> list[str]:
    """Return the labels of the values of an `enum`: its `enumNames`, as in MCP, if each value has one."""
    values = schema["enum"]
    names = schema.get("enumNames")
    if not isinstance(names, list) or len(names) != len(values):
        return [label_for(value) for value in values]
    return [
        text_of(name).strip() or label_for(value)
        for name, value in zip(names, values, strict=True)
    ]


def text_field(plain: FormControl, schema: JsonMapping) -> FormControl:
    secret = schema.get("writeOnly") is True
    input_type = SECRET if secret else INPUT_TYPES.get(schema.get("format", ""), "text")
    short = (
        secret
        or bool({"pattern", "format", CURRENCY} & schema.keys())
        or _is_short(plain, schema)
    )
    return replace(
        plain,
        widget=Widget.LINE if short else Widget.LINES,
        input_type=input_type,
        unit=currency_of(schema),
        person=schema.get("format") == PERSON,
        limits=", ".join(
            filter(None, (length_limits(schema), example_of(schema), unchecked(schema)))
        ),
    )


def _is_short(plain: FormControl, schema: JsonMapping) -> bool:
    """Return whether a text fits on one line, judged by its schema if it says so, else by its name."""
    if "maxLength" in schema:
        return bool(schema["maxLength"] <= LONG_TEXT)
    if (
        "\n" in text_of(schema.get("default"))
        or len(text_of(schema.get("default"))) > LONG_TEXT
    ):
        return False
    return not (
        LONG_NAMES.search(plain.path[-1] if plain.path else plain.label)
        or LONG_NAMES.search(plain.label)
    )
