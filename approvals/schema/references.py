"""Resolve references within a JSON Schema, and check that they lead to schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from django.utils.translation import gettext as _
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError

from approvals.db.cursors import number_from

ONE = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else")
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
#: Values in total in targets that are not in the place of a schema, such as a member of an `enum`.
MAX_STRAY_VALUES = 2_000


class NoTarget(ValueError):
    """A reference has no target."""


def target_of(schema: Any, reference: str) -> Any:
    """Return the target of `#/a/b` in a schema. NoTarget."""
    target = schema
    for part in unquote(reference).split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        match target:
            case dict() if name in target:
                target = target[name]
            case list() if (index := number_from(name)) is not None and index < len(target):
                target = target[index]
            case _:
                raise NoTarget(_("refers to %(reference)r, which it does not contain") % {"reference": reference[:100]})
    return target


def follow_references(schema: Any, root: Mapping[str, Any]) -> Any:
    """Return the schema behind a chain of references, joined with what stands beside them; a cycle ends the chain."""
    seen: list[str] = []
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str) and reference not in seen:
        seen.append(reference)
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        target = target_of(root, reference)
        schema = {**target, **beside} if isinstance(target, Mapping) else target
    return schema


def check_references(schema: dict[str, Any]) -> None:
    """Raise ValueError, with a message for the client, unless every reference in a valid schema leads to a schema.

    A target in the place of a schema was validated with the whole schema. Any other, such as a member of an `enum`, is
    validated here.
    """
    places = {id(subschema): subschema for subschema in subschemas(schema)}
    left, room = list(places.values()), MAX_STRAY_VALUES
    while left:
        reference = left.pop().get("$ref")
        if not isinstance(reference, str):
            continue
        target = target_of(schema, reference)
        if isinstance(target, bool) or id(target) in places:
            continue
        room -= count_values(target)
        if not isinstance(target, dict) or room < 0 or not _is_schema(target):
            raise ValueError(_("refers to %(reference)r, which is not a JSON Schema") % {"reference": reference[:100]})
        new = {id(subschema): subschema for subschema in subschemas(target) if id(subschema) not in places}
        places |= new
        left += new.values()


def _is_schema(value: Any) -> bool:
    try:
        Draft202012Validator.check_schema(value, format_checker=FormatChecker(formats=()))
    except SchemaError:
        return False
    return True


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and every schema in it."""
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
    """Return about how many values a JSON value holds."""
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
