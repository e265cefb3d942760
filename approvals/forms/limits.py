"""A field's label, limits and example, from its schema."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.db.canonical_json import canonical
from approvals.json_types import JsonMapping
from approvals.schema.patterns import pattern_of
from approvals.text.numbers import as_typed
from approvals.text.text import visible, visible_name


def label_of(schema: JsonMapping, name: str) -> str:
    title = text_of(schema.get("title")).strip()
    # pydantic makes "Orderid" of orderId.
    made = title == name.replace("_", " ").title() and re.search(r"[a-z][A-Z]", name)
    return visible_name(name) if made or not title else visible(title)


def label_for(value: Any) -> str:
    """Return a value as a label: text unchanged, anything else as JSON."""
    return value if isinstance(value, str) and value else canonical(value).decode()


def number_text(number: float) -> str:
    """Return a number in the format of the field beside it."""
    return as_typed(canonical(number).decode())


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def length_limits(schema: JsonMapping) -> str:
    least = schema.get("minLength", 0)
    most = schema.get("maxLength")
    if least > 1 and most is not None:
        return _("%(least)s to %(most)s characters") % {"least": least, "most": most}
    if most is not None:
        return ngettext(
            "at most %(most)s character", "at most %(most)s characters", int(most)
        ) % {"most": most}
    if least > 1:
        return ngettext(
            "at least %(least)s character", "at least %(least)s characters", int(least)
        ) % {"least": least}
    return ""


def count_limits(schema: JsonMapping) -> str:
    least = schema.get("minItems", 0)
    most = schema.get("maxItems")
    if least and most is not None:
        return _("%(least)s to %(most)s values") % {"least": least, "most": most}
    if most is not None:
        return ngettext(
            "at most %(most)s value", "at most %(most)s values", int(most)
        ) % {"most": most}
    if least:
        return ngettext(
            "at least %(least)s value", "at least %(least)s values", int(least)
        ) % {"least": least}
    return ""


def number_limits(schema: JsonMapping) -> str:
    least = schema.get("minimum")
    most = schema.get("maximum")
    limits = []
    if least is not None and most is not None:
        limits.append(
            _("from %(least)s to %(most)s")
            % {"least": number_text(least), "most": number_text(most)}
        )
    else:
        limits += (
            [_("at least %(value)s") % {"value": number_text(least)}]
            if least is not None
            else []
        )
        limits += (
            [_("at most %(value)s") % {"value": number_text(most)}]
            if most is not None
            else []
        )
    if "exclusiveMinimum" in schema:
        limits.insert(
            0,
            _("more than %(value)s")
            % {"value": number_text(schema["exclusiveMinimum"])},
        )
    if "exclusiveMaximum" in schema:
        limits.append(
            _("less than %(value)s")
            % {"value": number_text(schema["exclusiveMaximum"])}
        )
    if "multipleOf" in schema:
        limits.append(
            _("in steps of %(value)s") % {"value": number_text(schema["multipleOf"])}
        )
    if schema.get("type") == "integer":
        limits.append(_("a whole number"))
    return ", ".join(limits)


def example_of(schema: JsonMapping) -> str:
    """Return the first example of a text with a pattern, which people would not understand."""
    examples = schema.get("examples")
    if "pattern" not in schema or not isinstance(examples, list) or not examples:
        return ""
    return (
        _("such as %(example)s") % {"example": visible(text_of(examples[0])[:80])}
        if text_of(examples[0])
        else ""
    )


def unchecked(schema: JsonMapping) -> str:
    """Return a note if the text's pattern cannot be checked here; empty otherwise."""
    pattern = schema.get("pattern")
    if not isinstance(pattern, str) or pattern_of(pattern).is_checked:
        return ""
    return _("in a format that only the requesting program can check")
