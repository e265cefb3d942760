"""JSON Schema keywords: the checked `format`s, and references within a schema.

Other formats are annotations, as in JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any
from urllib.parse import unquote

from django.utils.translation import gettext as _

from approvals.db.cursors import number_from
from approvals.json_types import JsonDict, JsonMapping

#: A username of this installation, which is checked when an answer is stored.
PERSON = "person"
#: Keywords that jsonschema evaluates with Python's `re`, and those that refer to other schemas.
UNSUPPORTED = frozenset(
    {
        "unevaluatedProperties",
        "unevaluatedItems",
        "$dynamicRef",
        "$dynamicAnchor",
        "$anchor",
        "$id",
        "$vocabulary",
    }
)
#: Annotation of amounts with their currency (ISO 4217).
CURRENCY = "x-currency"
#: Maximum depth at which currencies are found in a schema.
MAX_LEVELS = 4
_CURRENCY = re.compile(r"[A-Z]{3}", re.ASCII)
# All of these take linear time.
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


def matches_format(name: str, text: str) -> bool:
    """Return whether a text is a `date`, `date-time` (RFC 3339), `email` or `uri`; True for any other format."""
    check = FORMATS.get(name)
    return check is None or check(text)


def currency_of(schema: JsonMapping) -> str:
    """Return the currency of the amounts that a schema describes; empty if it names none."""
    code = schema.get(CURRENCY)
    return code if isinstance(code, str) and _CURRENCY.fullmatch(code) else ""


def currencies_in(
    schema: JsonMapping | None, levels: int = MAX_LEVELS
) -> dict[str, str]:
    """Return the currencies of the amounts in an object and in nested objects, by path of names."""
    currencies: dict[str, str] = {}
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return currencies
    for name, below in properties.items():
        if not isinstance(below, Mapping):
            continue
        if currency := currency_of(below):
            currencies[name] = currency
        if levels:
            currencies |= {
                f"{name}.{inner}": code
                for inner, code in currencies_in(below, levels - 1).items()
            }
    return currencies


def _is_day(text: str) -> bool:
    return _DAY.fullmatch(text) is not None and _parses(date.fromisoformat, text)


def _is_moment(text: str) -> bool:
    if _MOMENT.fullmatch(text) is None:
        return False
    # Python 3.11 parses at most six digits of a second, and no leap seconds.
    plain = re.sub(r"(\.\d{1,6})\d*", r"\1", text.upper(), count=1)
    plain = re.sub(r"(T\d\d:\d\d):60", r"\1:59", plain)
    return _parses(datetime.fromisoformat, plain)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_day,
    "date-time": _is_moment,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uri": lambda text: _URI.fullmatch(text) is not None,
}


ONE = (
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
#: Maximum number of values in reference targets that are not schemas by position, such as a member of an `enum`.
MAX_STRAY_VALUES = 2_000


class NoTarget(ValueError):
    """A reference has no target."""


def target_of(schema: Any, reference: str) -> Any:
    """Return the target of `#/a/b` in a schema. Raise NoTarget."""
    target = schema
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        match target:
            case dict() if name in target:
                target = target[name]
            case list() if (index := number_from(name)) is not None and index < len(
                target
            ):
                target = target[index]
            case _:
                raise NoTarget(
                    _("refers to %(reference)r, which it does not contain")
                    % {"reference": reference[:100]}
                )
    return target


def follow_references(schema: Any, root: JsonMapping) -> Any:
    """Return the schema behind a chain of references, merged with the keywords beside them; a cycle ends the chain."""
    seen: list[str] = []
    while (
        isinstance(schema, Mapping)
        and isinstance(reference := schema.get("$ref"), str)
        and reference not in seen
    ):
        seen.append(reference)
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        target = target_of(root, reference)
        schema = {**target, **beside} if isinstance(target, Mapping) else target
    return schema


def check_references(schema: JsonDict) -> None:
    """Raise ValueError, with a message for the client, unless every reference in a valid schema leads to a schema.

    A target that is a schema by position was validated with the whole schema. Any other, such as a member of an `enum`, is
    validated here.
    """
    places = {id(subschema): subschema for subschema in subschemas(schema)}
    left = list(places.values())
    room = MAX_STRAY_VALUES
    while left:
        reference = left.pop().get("$ref")
        if not isinstance(reference, str):
            continue
        target = target_of(schema, reference)
        if isinstance(target, bool) or id(target) in places:
            continue
        room -= count_values(target)
        if (
            not isinstance(target, dict)
            or room < 0
            or standard_problem(target) is not None
        ):
            raise ValueError(
                _("refers to %(reference)r, which is not a JSON Schema")
                % {"reference": reference[:100]}
            )
        new = {
            id(subschema): subschema
            for subschema in subschemas(target)
            if id(subschema) not in places
        }
        places |= new
        left += new.values()


def standard_problem(value: Any) -> str | None:
    """Return why this is not a valid JSON Schema by the standard; None if it is one."""
    from jsonschema import Draft202012Validator, FormatChecker  # noqa: PLC0415 - loaded late
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - loaded late

    try:
        # Without formats: RE2 decides which patterns are valid, not Python's `re`, which has no `\\p{L}`.
        Draft202012Validator.check_schema(
            value, format_checker=FormatChecker(formats=())
        )
    except SchemaError as error:
        return error.message
    return None


def subschemas(schema: Any) -> Iterator[JsonDict]:
    """Yield a schema and all of its subschemas."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name in ONE:
        yield from subschemas(schema.get(name))
    for name in MANY:
        for below in schema.get(name, ()):
            yield from subschemas(below)
    for name in NAMED:
        for below in schema.get(name, {}).values():
            yield from subschemas(below)


def count_values(value: Any) -> int:
    """Return the approximate number of values in a JSON value."""
    match value:
        case dict():
            return 1 + sum(map(count_values, value.values()))
        case list():
            return 1 + sum(map(count_values, value))
        case _:
            return 1


def members(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield every member of every object in a schema, since a reference may lead to any of them."""
    match schema:
        case dict():
            for name, value in schema.items():
                yield name, value
                yield from members(value)
        case list():
            for value in schema:
                yield from members(value)
