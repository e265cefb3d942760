"""Check values against clients' JSON Schemas (2020-12), within a fixed budget.

A schema is untrusted code that runs on every answer. RE2 matches its patterns in linear time. Every keyword costs steps, and a
check that runs out of steps fails.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from approvals.db.canonical_json import NotCanonical, canonical
from approvals.json_types import JsonMapping
from approvals.schema.keywords import (
    PERSON,
    UNSUPPORTED,
    check_references,
    count_values,
    members,
    standard_problem,
    subschemas,
)
from approvals.schema.patterns import compiled, pattern_of
from approvals.schema.plain_words import plain_errors
from approvals.text.numbers import grouped
from approvals.text.translation import translated

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_SCHEMA_BYTES = 64_000
MAX_SCHEMA_DEPTH = 32
#: Maximum number of values in a schema; validating the schema takes about half a millisecond for each.
MAX_SCHEMA_VALUES = 2_000
#: Number of valid schemas to cache: tools defined in code send the same ones all day.
MAX_REMEMBERED = 100
#: Maximum steps of a check, each about a microsecond.
MAX_STEPS = 300_000
MAX_ERRORS = 50
#: Keywords where a mismatch, or a match of exactly one schema, also matters.
_NEED_AN_ANSWER = frozenset({"not", "if", "oneOf", "contains", "propertyNames"})

logger = logging.getLogger(__name__)


def schema_problem(schema: Any) -> str:
    """Return why this cannot be a response schema, as the predicate of the field's name; empty if it can."""
    if not isinstance(schema, dict):
        return _("is not a JSON object")
    try:
        _require_supported(
            canonical(schema, max_depth=MAX_SCHEMA_DEPTH, max_bytes=MAX_SCHEMA_BYTES)
        )
    except (NotCanonical, ValueError) as error:
        return translated(error)
    return ""


@functools.lru_cache(maxsize=MAX_REMEMBERED)
def _require_supported(body: bytes) -> None:
    """Raise ValueError (not cached) unless this is a valid JSON Schema within all bounds."""
    schema = json.loads(body)
    if count_values(schema) > MAX_SCHEMA_VALUES:
        raise ValueError(
            _("has more than %(limit)s values") % {"limit": grouped(MAX_SCHEMA_VALUES)}
        )
    for name, value in members(schema):
        _check_member(name, value)
    message = standard_problem(schema)
    if message is not None:
        raise ValueError(
            _("is not a JSON Schema: %(message)s") % {"message": message[:300]}
        )
    for below in subschemas(schema):
        for name in UNSUPPORTED & below.keys():
            raise ValueError(_unsupported(name))
        for name in _NEED_AN_ANSWER & below.keys():
            _require_checked(below[name])
    check_references(schema)


def schema_errors(
    schema: JsonMapping | None,
    value: Any,
    *,
    plain: bool = False,
    people: Collection[str] | None = None,
) -> dict[str, str]:
    """Return the errors of `value` against a JSON Schema, by path (`amount`, `items.0.name`, "" for the whole).

    With `plain`, messages are in words for people, and a missing value is reported at its own path. `people` are the valid
    usernames for the format PERSON, if they are to be checked.
    """
    if schema is None:
        return {}
    from approvals.schema.validator import (  # noqa: PLC0415 - loaded late
        TooCostly,
        known_people,
        steps_left,
        validator_of,
    )

    validator = validator_of(schema)
    token = steps_left.set([MAX_STEPS])
    known = known_people.set(people)
    try:
        first = itertools.islice(validator.iter_errors(value), MAX_ERRORS)
        errors = sorted(first, key=lambda error: list(map(str, error.path)))
    except TooCostly:
        return {
            "": _(
                "takes too long to check against the request's schema; send a smaller value"
            )
        }
    except Exception as error:
        # A bad schema that was accepted with its request must not cause an error page for the person answering.
        logger.warning(
            "An answer could not be checked against its request's schema: %r", error
        )
        return {"": _("cannot be checked because the request's schema is invalid")}
    finally:
        steps_left.reset(token)
        known_people.reset(known)
    named = plain_errors if plain else _as_they_are
    return {
        ".".join(map(str, path)): message
        for error in reversed(errors)
        for path, message in named(error)
    }


def fits(part: Any, root: JsonMapping, value: Any, steps: list[int]) -> bool:
    """Return whether a value matches a part of a schema. Calls share their `steps`; when none are left, nothing matches."""
    from approvals.schema.validator import steps_left, validator_of  # noqa: PLC0415 - loaded late

    token = steps_left.set(steps)
    try:
        return bool(validator_of(root).evolve(schema=part).is_valid(value))
    except Exception:
        # Too costly, or a bad schema: the whole answer is checked in any case.
        return False
    finally:
        steps_left.reset(token)


def names_people(schema: Any) -> bool:
    """Return whether a schema may contain the format PERSON."""
    return ("format", PERSON) in (
        (name, value) for name, value in members(schema) if name == "format"
    )


def _as_they_are(error: ValidationError) -> Iterator[tuple[tuple[Any, ...], str]]:
    yield tuple(error.path), error.message[:300]


def _check_member(name: str, value: Any) -> None:
    """Raise ValueError, with a message for the client, for an unsupported member."""
    # In `properties`, such a name is that of a value, and its own value is an object.
    if name in UNSUPPORTED and not isinstance(value, dict):
        raise ValueError(_unsupported(name))
    if (
        name == "$ref"
        and isinstance(value, str)
        and not (value == "#" or value.startswith("#/"))
    ):
        raise ValueError(
            _(
                "refers to %(value)r; only references within the schema are supported, such as '#/$defs/name'"
            )
            % {"value": value[:100]}
        )
    if name == "pattern" and isinstance(value, str):
        pattern_of(value)
    if name == "patternProperties" and isinstance(value, dict):
        for pattern in value:
            _compile_name(pattern)


def _compile_name(pattern: str) -> None:
    """Raise ValueError unless this pattern of names can be checked: it determines which schema applies."""
    if not pattern_of(pattern).is_checked:
        compiled(pattern)


def _require_checked(part: Any) -> None:
    """Raise ValueError for an unchecked pattern in a part of a schema whose result affects the rest."""
    for name, value in members(part):
        if (
            name == "pattern"
            and isinstance(value, str)
            and not pattern_of(value).is_checked
        ):
            compiled(value)


def _unsupported(name: str) -> str:
    return _("uses %(name)r, which is not supported") % {"name": name}
