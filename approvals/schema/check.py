"""Check values against JSON Schemas (2020-12) of clients, within a fixed budget.

A schema is a program that a stranger wrote and every answer runs. RE2 matches its patterns in linear time. Every keyword
costs steps, and a check that runs out of steps fails.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

from django.utils.translation import gettext as _
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry

from approvals.db.canonical_json import NotCanonical, canonical
from approvals.schema.formats import PERSON, matches_format
from approvals.schema.patterns import compiled, pattern_of
from approvals.schema.plain_words import plain_errors
from approvals.schema.references import check_references, count_values, members, subschemas
from approvals.text.numbers import grouped
from approvals.text.translation import translated

MAX_SCHEMA_BYTES = 64_000
MAX_SCHEMA_DEPTH = 32
#: Values in a schema, in total; validating the schema takes about half a millisecond for each.
MAX_SCHEMA_VALUES = 2_000
#: Valid schemas that are not checked again when they come again: tools that code defines send the same ones all day.
MAX_REMEMBERED = 100
#: The steps that one check may take, of about a microsecond each.
MAX_STEPS = 300_000
MAX_ERRORS = 50
#: Keywords that jsonschema evaluates with Python's `re`, and those that refer to other schemas.
UNSUPPORTED = frozenset(
    {"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$dynamicAnchor", "$anchor", "$id", "$vocabulary"}
)
#: Keywords for which a value that does not match, or matches one schema of several alone, counts too.
_NEED_AN_ANSWER = frozenset({"not", "if", "oneOf", "contains", "propertyNames"})

logger = logging.getLogger(__name__)

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError]]

_steps_left: ContextVar[list[int]] = ContextVar("steps_left")
#: The usernames that values of the format PERSON may have; None if that is not checked.
_people: ContextVar[Collection[str] | None] = ContextVar("people", default=None)


class _TooCostly(Exception):
    """The check has used up its steps."""


def schema_problem(schema: Any) -> str:
    """Return why this cannot be a response schema, to be read after the name of the field; empty if it can."""
    if not isinstance(schema, dict):
        return _("is not a JSON object")
    try:
        _require_supported(canonical(schema, max_depth=MAX_SCHEMA_DEPTH, max_bytes=MAX_SCHEMA_BYTES))
    except (NotCanonical, ValueError) as error:
        return translated(error)
    except SchemaError as error:
        return _("is not a JSON Schema: %(message)s") % {"message": error.message[:300]}
    return ""


@functools.lru_cache(maxsize=MAX_REMEMBERED)
def _require_supported(body: bytes) -> None:
    """Raise ValueError or SchemaError, which are not remembered, unless this is a JSON Schema within all bounds."""
    schema = json.loads(body)
    if count_values(schema) > MAX_SCHEMA_VALUES:
        raise ValueError(_("has more than %(limit)s values") % {"limit": grouped(MAX_SCHEMA_VALUES)})
    for name, value in members(schema):
        _check_member(name, value)
    # Without formats: RE2 decides what a pattern may be, and not Python's `re`, which has no `\\p{L}`.
    Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
    for below in subschemas(schema):
        for name in UNSUPPORTED & below.keys():
            raise ValueError(_unsupported(name))
        for name in _NEED_AN_ANSWER & below.keys():
            _require_checked(below[name])
    check_references(schema)


def schema_errors(
    schema: Mapping[str, Any] | None, value: Any, *, plain: bool = False, people: Collection[str] | None = None
) -> dict[str, str]:
    """Return the errors of `value` against a JSON Schema, by path (`amount`, `items.0.name`, "" for the whole).

    With `plain`, they are in words for people, and a missing value is an error at its own path. `people` are the usernames
    that values of the format PERSON may have, if that is to be checked.
    """
    if schema is None:
        return {}
    # An empty registry: a `$ref` into the network or the file system is never followed.
    validator = _Validator(schema, registry=Registry())
    token, known = _steps_left.set([MAX_STEPS]), _people.set(people)
    try:
        first = itertools.islice(validator.iter_errors(value), MAX_ERRORS)
        errors = sorted(first, key=lambda error: list(map(str, error.path)))
    except _TooCostly:
        return {"": _("takes too long to check against the request's schema; send a smaller value")}
    except Exception as error:
        # A bad schema that was accepted with its request must not fail the person who answers.
        logger.warning("An answer could not be checked against its request's schema: %r", error)
        return {"": _("cannot be checked because the request's schema is invalid")}
    finally:
        _steps_left.reset(token)
        _people.reset(known)
    named = plain_errors if plain else _as_they_are
    return {".".join(map(str, path)): message for error in reversed(errors) for path, message in named(error)}


def fits(part: Any, root: Mapping[str, Any], value: Any, steps: list[int]) -> bool:
    """Return whether a value fits a part of a schema. Calls share their `steps`, and without any left nothing fits."""
    token = _steps_left.set(steps)
    try:
        return bool(_Validator(root, registry=Registry()).evolve(schema=part).is_valid(value))
    except Exception:
        # Too costly, or a bad schema: the whole answer is checked in any case.
        return False
    finally:
        _steps_left.reset(token)


def names_people(schema: Any) -> bool:
    """Return whether values of a schema may have the format PERSON."""
    return ("format", PERSON) in ((name, value) for name, value in members(schema) if name == "format")


def _as_they_are(error: ValidationError) -> Iterator[tuple[tuple[Any, ...], str]]:
    yield tuple(error.path), error.message[:300]


def _check_member(name: str, value: Any) -> None:
    """Raise ValueError, with a message for the client, for a member that is not supported."""
    # A value of `properties` may have such a name, and is an object then.
    if name in UNSUPPORTED and not isinstance(value, dict):
        raise ValueError(_unsupported(name))
    if name == "$ref" and isinstance(value, str) and not (value == "#" or value.startswith("#/")):
        raise ValueError(
            _("refers to %(value)r; only references within the schema are supported, such as '#/$defs/name'")
            % {"value": value[:100]}
        )
    if name == "pattern" and isinstance(value, str):
        pattern_of(value)
    if name == "patternProperties" and isinstance(value, dict):
        for pattern in value:
            _compile_name(pattern)


def _compile_name(pattern: str) -> None:
    """Raise ValueError unless this pattern of names can be checked: which schema counts depends on it."""
    if not pattern_of(pattern).is_checked:
        compiled(pattern)


def _require_checked(part: Any) -> None:
    """Raise ValueError for a pattern in a part of a schema that is not checked here, though the rest depends on the outcome."""
    for name, value in members(part):
        if name == "pattern" and isinstance(value, str) and not pattern_of(value).is_checked:
            compiled(value)


def _unsupported(name: str) -> str:
    return _("uses %(name)r, which is not supported") % {"name": name}


def _matches(pattern: str, text: str) -> bool:
    checked = pattern_of(pattern)
    _spend(4 + checked.size * len(text) // 200)
    return checked.matches(text)


def _spend(steps: int) -> None:
    left = _steps_left.get()
    left[0] -= steps
    if left[0] < 0:
        raise _TooCostly


def _counted(keyword: Keyword, price: Callable[[Any, Any], int]) -> Keyword:
    def counting(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        _spend(price(value, instance))
        for error in keyword(validator, value, instance, schema) or ():
            # A message repeats the value, which may be the whole answer.
            _spend(25 + len(error.message) // 50)
            yield error

    return counting


def _by_size(value: Any, instance: Any) -> int:
    return 4 + (len(value) if isinstance(value, dict | list) else 0)


def _by_items(value: Any, instance: Any) -> int:
    """Price keywords that visit every item of a value."""
    return _by_size(value, instance) + (6 * len(instance) if isinstance(instance, dict | list) else 0)


def _by_branches(value: Any, instance: Any) -> int:
    """Price keywords that try several schemas on the same value."""
    return 4 + 12 * len(value)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(_("does not match %(pattern)r") % {"pattern": pattern})


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, below in patterns.items():
            for name, value in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(value, below, path=name, schema_path=pattern)


def _additional_properties(validator: Any, below: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        if below is False:
            yield ValidationError(_("%(name)r is not allowed here") % {"name": name[:100]})
        else:
            yield from validator.descend(value, below, path=name)


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # jsonschema compares each item with each other, in quadratic time.
    if wanted and isinstance(instance, list) and len({canonical(item) for item in instance}) < len(instance):
        yield ValidationError(_("has the same item twice"))


def _enum(validator: Any, values: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # Texts are looked for at the speed of Python: a form may have hundreds of options, all of them chosen.
    if not (isinstance(instance, str) and instance in values):
        yield from _STANDARD["enum"](validator, values, instance, schema) or ()


def _by_options(values: Any, instance: Any) -> int:
    return 4 + (len(values) // 40 if isinstance(instance, str) else count_values(values))


def _multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # As decimals, because the binary form of 19.99 is no multiple of that of 0.01.
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if (Fraction(repr(instance)) / Fraction(repr(step))).denominator != 1:
        yield ValidationError(_("%(instance)r is not a multiple of %(step)r") % {"instance": instance, "step": step})


def _refuse(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    # Only in a place where the schema was not known to be one, or in a request of an earlier version.
    raise ValueError("This keyword is not supported.")


def _format(validator: Any, name: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    known = _people.get() if name == PERSON else None
    if known is not None and isinstance(instance, str) and instance not in known:
        yield ValidationError(_("%(instance)r is not the username of an active person") % {"instance": instance[:100]})
    elif isinstance(instance, str) and not matches_format(name, instance):
        yield ValidationError(_("%(instance)r is not a valid %(name)s") % {"instance": instance[:100], "name": name})


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
#: The price of keywords for which `_by_size` is too low.
_PRICES: dict[str, Callable[[Any, Any], int]] = {
    **dict.fromkeys(("items", "contains", "propertyNames", "additionalProperties", "patternProperties"), _by_items),
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
    {name: _counted(_OWN.get(name, keyword), _PRICES.get(name, _by_size)) for name, keyword in _STANDARD.items()},
)
_evolve = _Validator.evolve


def _evolve_without_dialect(validator: Any, **changes: Any) -> Any:
    """Return a validator of a subschema, always of our own kind.

    For a subschema that names its `$schema`, jsonschema takes a standard one, with Python's `re` and without a budget.
    """
    schema = changes.get("schema")
    if isinstance(schema, dict) and "$schema" in schema:
        changes["schema"] = {name: value for name, value in schema.items() if name != "$schema"}
    return _evolve(validator, **changes)


_Validator.evolve = _evolve_without_dialect
