"""Schema errors for people who do not know JSON Schema: without patterns, keywords or quoted values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.db.canonical_json import canonical
from approvals.text.numbers import as_typed, grouped

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

TYPES = {
    "string": gettext_lazy("must be text"),
    "number": gettext_lazy("must be a number"),
    "integer": gettext_lazy("must be a whole number"),
    "boolean": gettext_lazy("must be yes or no"),
    "array": gettext_lazy("must be a list"),
    "object": gettext_lazy("must be a JSON object"),
    "null": gettext_lazy("must be empty"),
}
FORMATS = {
    "date": gettext_lazy("must be a date, such as 2026-12-24"),
    "date-time": gettext_lazy("must be a date with a time"),
    "time": gettext_lazy("must be a time, such as 14:30:00Z"),
    "email": gettext_lazy("must be an email address"),
    "uri": gettext_lazy("must be a full URL, such as https://example.com"),
    "uuid": gettext_lazy("must be a UUID"),
    "person": gettext_lazy("must be the username of an active person"),
}


def plain_errors(error: ValidationError) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the path of each field in an error, with the error in words."""
    path = tuple(error.path)
    wanted: Any = error.validator_value
    if error.validator == "required" and isinstance(error.instance, dict):
        for name in wanted:
            if name not in error.instance:
                yield (*path, name), _("is missing")
        return
    describe = WORDS.get(str(error.validator))
    yield path, describe(wanted, error.schema) if describe else error.message[:300]


def _pattern(value: Any, schema: Any) -> str:
    examples = schema.get("examples") if isinstance(schema, Mapping) else None
    if isinstance(examples, list) and examples and isinstance(examples[0], str):
        return _(
            "is not in the format that the agent asked for, such as “%(example)s”"
        ) % {"example": examples[0][:80]}
    return _("is not in the format that the agent asked for")


def _type(value: Any, schema: Any) -> str:
    kinds = (
        [value]
        if isinstance(value, str)
        else [kind for kind in value if kind != "null"]
    )
    return (
        str(TYPES.get(kinds[0], ""))
        if len(kinds) == 1 and kinds[0] in TYPES
        else _("has the wrong type")
    )


def _format(value: Any, schema: Any) -> str:
    return str(FORMATS.get(value, "")) or _(
        "is not in the format that the agent asked for"
    )


def _counted(singular: str, plural: str) -> Callable[[Any, Any], str]:
    def message(value: Any, schema: Any) -> str:
        return ngettext(singular, plural, int(value)) % {"count": grouped(int(value))}

    return message


def _limit(message: Any) -> Callable[[Any, Any], str]:
    return lambda value, schema: (
        str(message) % {"value": as_typed(canonical(value).decode())}
    )


WORDS: dict[str, Callable[[Any, Any], str]] = {
    "pattern": _pattern,
    "type": _type,
    "format": _format,
    **dict.fromkeys(
        ("anyOf", "oneOf", "not"),
        lambda value, schema: _("is not in the format that the agent asked for"),
    ),
    "enum": lambda value, schema: _("is not one of the options"),
    "const": lambda value, schema: _("is not the one possible value"),
    "minLength": _counted(
        "needs at least %(count)s character", "needs at least %(count)s characters"
    ),
    "maxLength": _counted(
        "may have at most %(count)s character", "may have at most %(count)s characters"
    ),
    "minItems": _counted(
        "needs at least %(count)s value", "needs at least %(count)s values"
    ),
    "maxItems": _counted(
        "may have at most %(count)s value", "may have at most %(count)s values"
    ),
    "minimum": _limit(gettext_lazy("must be at least %(value)s")),
    "maximum": _limit(gettext_lazy("must be at most %(value)s")),
    "exclusiveMinimum": _limit(gettext_lazy("must be more than %(value)s")),
    "exclusiveMaximum": _limit(gettext_lazy("must be less than %(value)s")),
    "multipleOf": _limit(gettext_lazy("must be a multiple of %(value)s")),
}
