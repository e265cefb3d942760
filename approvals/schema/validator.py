"""The validator for clients' schemas: the keywords of jsonschema, each with a price, and replacements for some of them.

It is imported when the first schema is checked, as is its library: most requests are approvals without a schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry

from approvals.db.canonical_json import canonical
from approvals.schema.keywords import PERSON, UNSUPPORTED, count_values, matches_format
from approvals.schema.patterns import pattern_of

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]

steps_left: ContextVar[list[int]] = ContextVar("steps_left")
#: Valid usernames for the format PERSON; None if they are not checked.
known_people: ContextVar[Collection[str] | None] = ContextVar(
    "known_people", default=None
)


class TooCostly(Exception):
    """The check ran out of steps."""


def validator_of(schema: Mapping[str, Any]) -> Any:
    """Return a validator for values of a schema, which uses up `steps_left`."""
    # An empty registry: a `$ref` to the network or the file system is never followed.
    return _Validator(schema, registry=Registry())


def _matches(pattern: str, text: str) -> bool:
    checked = pattern_of(pattern)
    _spend(4 + checked.size * len(text) // 200)
    return checked.matches(text)


def _spend(steps: int) -> None:
    left = steps_left.get()
    left[0] -= steps
    if left[0] < 0:
        raise TooCostly


def _counted(keyword: Keyword, price: Callable[[Any, Any], int]) -> Keyword:
    def counting(
        validator: Any, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        _spend(price(value, instance))
        for error in keyword(validator, value, instance, schema) or ():
            # The message repeats the value, which may be the whole answer.
            _spend(25 + len(error.message) // 50)
            yield error

    return counting


def _by_size(value: Any, instance: Any) -> int:
    return 4 + (len(value) if isinstance(value, dict | list) else 0)


def _by_items(value: Any, instance: Any) -> int:
    """Price keywords that visit every item of a value."""
    return _by_size(value, instance) + (
        6 * len(instance) if isinstance(instance, dict | list) else 0
    )


def _by_branches(value: Any, instance: Any) -> int:
    """Price keywords that try several schemas on the same value."""
    return 4 + 12 * len(value)


def _pattern(
    validator: Any, pattern: str, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(_("does not match %(pattern)r") % {"pattern": pattern})


def _pattern_properties(
    validator: Any, patterns: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, below in patterns.items():
            for name, value in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(
                        value, below, path=name, schema_path=pattern
                    )


def _additional_properties(
    validator: Any, below: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        if below is False:
            yield ValidationError(
                _("%(name)r is not allowed here") % {"name": name[:100]}
            )
        else:
            yield from validator.descend(value, below, path=name)


def _unique_items(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    # jsonschema compares all pairs of items, in quadratic time.
    if (
        wanted
        and isinstance(instance, list)
        and len({canonical(item) for item in instance}) < len(instance)
    ):
        yield ValidationError(_("has the same item twice"))


def _enum(
    validator: Any, values: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    # Texts are searched at the speed of Python: a form may have hundreds of options, all of them chosen.
    if not (isinstance(instance, str) and instance in values):
        yield from _STANDARD["enum"](validator, values, instance, schema) or ()


def _by_options(values: Any, instance: Any) -> int:
    return 4 + (
        len(values) // 40 if isinstance(instance, str) else count_values(values)
    )


def _multiple_of(
    validator: Any, step: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    # As decimals, because the binary value of 19.99 is not a multiple of that of 0.01.
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if (Fraction(repr(instance)) / Fraction(repr(step))).denominator != 1:
        yield ValidationError(
            _("%(instance)r is not a multiple of %(step)r")
            % {"instance": instance, "step": step}
        )


def _refuse(
    validator: Any, value: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    # Only in a place where the schema was not recognized as one.
    raise ValueError("This keyword is not supported.")


def _format(
    validator: Any, name: str, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    known = known_people.get() if name == PERSON else None
    if known is not None and isinstance(instance, str) and instance not in known:
        yield ValidationError(
            _("%(instance)r is not the username of an active person")
            % {"instance": instance[:100]}
        )
    elif isinstance(instance, str) and not matches_format(name, instance):
        yield ValidationError(
            _("%(instance)r is not a valid %(name)s")
            % {"instance": instance[:100], "name": name}
        )


_OWN: dict[str, Keyword] = {
    "format": _format,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "multipleOf": _multiple_of,
    "enum": _enum,
    **dict.fromkeys(UNSUPPORTED, _refuse),
}
#: Prices of keywords for which `_by_size` is too low.
_PRICES: dict[str, Callable[[Any, Any], int]] = {
    **dict.fromkeys(
        (
            "items",
            "contains",
            "propertyNames",
            "additionalProperties",
            "patternProperties",
        ),
        _by_items,
    ),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _by_branches),
    "multipleOf": lambda value, instance: 12,
    "$ref": lambda value, instance: 40,
    "const": lambda value, instance: 4 + count_values(value),
    "enum": _by_options,
    "uniqueItems": lambda value, instance: 4 + 4 * count_values(instance),
}
_STANDARD: Any = Draft202012Validator.VALIDATORS
_extended: Any = extend
_Validator: Any = _extended(
    Draft202012Validator,
    {
        name: _counted(_OWN.get(name, keyword), _PRICES.get(name, _by_size))
        for name, keyword in _STANDARD.items()
    },
)
_evolve = _Validator.evolve


def _evolve_without_dialect(validator: Any, **changes: Any) -> Any:
    """Return a validator of a subschema, always of our own class.

    For a subschema with its own `$schema`, jsonschema uses a standard one, with Python's `re` and without a budget.
    """
    schema = changes.get("schema")
    if isinstance(schema, dict) and "$schema" in schema:
        changes["schema"] = {
            name: value for name, value in schema.items() if name != "$schema"
        }
    return _evolve(validator, **changes)


_Validator.evolve = _evolve_without_dialect
