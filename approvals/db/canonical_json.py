"""JSON that can be stored, compared and signed: bounds for input, RFC 8785 bytes, SHA-256 digests, times."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import rfc8785

from approvals.json_types import JsonDict
from approvals.text.translatable import Count, TranslatableError, gettext_noop

MAX_DEPTH = 64
MAX_BYTES = 1_000_000
#: Maximum number of object members and list items in total: each costs time to check and to show.
MAX_VALUES = 10_000
MAX_SAFE_INTEGER = 2**53 - 1
# An unterminated string matches to the end: retrying at each of its quotes would take quadratic time.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_EMPTY = re.compile(r"\[\s*\]|\{\s*\}")
_encoder = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")
)
_DIRTY = re.compile("[\x00\ud800-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")


class NotCanonical(TranslatableError, ValueError):
    """The value has no canonical JSON form; the message explains this to its sender."""


def canonical(
    value: Any,
    *,
    max_depth: int = MAX_DEPTH,
    max_bytes: int = MAX_BYTES,
    max_values: int | None = None,
) -> bytes:
    """Return the RFC 8785 bytes of a JSON value.

    Raise NotCanonical for values outside I-JSON (NaN, integers beyond 2^53, lone surrogates), for NUL (which PostgreSQL
    rejects), and for values deeper or larger than the bounds.
    """
    if max_values is not None:
        _count(value, max_values)
    plain = _check(value, max_depth)
    try:
        # Python's encoder in C produces the same bytes for a plain value in a tenth of the time.
        encoded = _encoder.encode(value).encode() if plain else rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise NotCanonical(
            gettext_noop("not valid JSON text: %(error)s"), error=error
        ) from error
    if len(encoded) > max_bytes:
        raise NotCanonical(
            gettext_noop("larger than %(limit)s bytes"), limit=Count(max_bytes)
        )
    return encoded


def digest(
    value: Any, *, max_depth: int = MAX_DEPTH, max_bytes: int = MAX_BYTES
) -> str:
    """Return `sha256:` and the hex digest of the canonical form. Raise NotCanonical."""
    return (
        "sha256:"
        + hashlib.sha256(
            canonical(value, max_depth=max_depth, max_bytes=max_bytes)
        ).hexdigest()
    )


def same_json(left: Any, right: Any, *, exact: bool = False) -> bool:
    """Return whether two JSON values are equal; unlike in Python, `true` is not 1.

    1 and 1.0 are equal, as in the canonical form; with `exact` they differ, as their texts do.
    """
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(
                same_json(left[name], right[name], exact=exact) for name in left
            )
        case (list() | tuple(), list() | tuple()):
            pairs = zip(left, right, strict=False)
            return len(left) == len(right) and all(
                same_json(*pair, exact=exact) for pair in pairs
            )
        case (bool(), _) | (_, bool()):
            return left is right
        case _:
            return bool(left == right) and (type(left) is type(right) or not exact)


def parse(text: str) -> Any:
    """Parse strict JSON within the same bounds. Raise NotCanonical."""
    if len(text) > MAX_BYTES:
        raise NotCanonical(
            gettext_noop("larger than %(limit)s characters"), limit=Count(MAX_BYTES)
        )
    value = load(text)
    canonical(value)
    return value


def load(text: str | bytes, *, max_values: int = MAX_VALUES) -> Any:
    """Parse strict JSON (no NaN, UTF-8, unique names as in RFC 7493) of any length.

    Values must pass `canonical` too before they are stored. Raise NotCanonical.
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        # Count before parsing: it takes half a second to create half a million lists.
        if _holds_more(decoded, max_values):
            raise _too_many(max_values)
        return json.loads(
            decoded, parse_constant=_refuse_constant, object_pairs_hook=_each_once
        )
    except NotCanonical:
        raise
    except RecursionError as error:
        raise NotCanonical(gettext_noop("nested too deeply")) from error
    except ValueError as error:
        raise NotCanonical(
            gettext_noop("not valid JSON: %(error)s"), error=error
        ) from error


def _each_once(pairs: list[tuple[str, Any]]) -> JsonDict:
    # JSON parsers keep different duplicates, and people must approve the value that programs read.
    members = dict(pairs)
    if len(members) < len(pairs):
        ((twice, _times),) = Counter(name for name, _value in pairs).most_common(1)
        raise NotCanonical(
            gettext_noop("has the name %(name)r more than once"), name=twice[:60]
        )
    return members


def clean_text(text: str) -> str:
    """Replace characters that databases cannot store (NUL, lone surrogates) in text from a model, a tool or a client.

    Two consecutive halves of a character become the character.
    """
    if not _DIRTY.search(text):
        return text
    halves = text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass")
    return halves.decode("utf-16", "replace")


def join_halves(text: str) -> str:
    """Join surrogate pairs that were split between pieces of a text. Lone halves stay."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def clean_json(value: Any) -> Any:
    """Apply `clean_text` to every string of a JSON value."""
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {
                clean_text(str(key)): clean_json(item) for key, item in value.items()
            }
        case list() | tuple():
            return [clean_json(item) for item in value]
        case _:
            return value


def storable(value: JsonDict) -> JsonDict:
    """Return a parsed object for the record of a refused call, with values that cannot be stored replaced.

    Large integers become texts. An object nested too deeply becomes empty.
    """
    try:
        canonical(value)
    except NotCanonical:
        try:
            value = _with_large_numbers_as_texts(clean_json(value))
            canonical(value)
        except (NotCanonical, RecursionError):
            return {}
    return value


def _with_large_numbers_as_texts(value: Any) -> Any:
    match value:
        case dict():
            return {
                name: _with_large_numbers_as_texts(item) for name, item in value.items()
            }
        case list():
            return [_with_large_numbers_as_texts(item) for item in value]
        case int() if abs(value) > MAX_SAFE_INTEGER:
            return str(value)
        case _:
            return value


def _refuse_constant(name: str) -> None:
    raise NotCanonical(gettext_noop("%(name)s is not JSON"), name=name)


def _dirty_text() -> NotCanonical:
    return NotCanonical(gettext_noop("text contains a NUL or an unpaired surrogate"))


def _too_many(max_values: int) -> NotCanonical:
    return NotCanonical(
        gettext_noop("has more than %(limit)s values"), limit=Count(max_values)
    )


def _holds_more(text: str, values: int) -> bool:
    """Return whether a JSON text has more members and items than `values`; meaningless for invalid JSON."""
    # Brackets and commas in strings only add to this count.
    if text.count(",") + text.count("[") + text.count("{") <= values:
        return False
    # Each value has at most two strings, itself and its name, so too many quotes suffice.
    if text.count('"') - text.count('\\"') > 4 * values + 2:
        return True
    bare = _STRING.sub("0", text)
    return (
        bare.count(",") + bare.count("[") + bare.count("{") - len(_EMPTY.findall(bare))
        > values
    )


def _count(value: Any, max_values: int) -> None:
    """Raise NotCanonical if a value has more than `max_values` members and items in total."""
    left = max_values
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict | list | tuple):
            left -= len(held)
            if left < 0:
                raise _too_many(max_values)
            waiting += held.values() if isinstance(held, dict) else held


def _check(value: Any, levels_left: int) -> bool:
    """Raise NotCanonical for a value without a canonical form. Return whether it is plain.

    A plain value has no floats that RFC 8785 writes differently from Python, and only ASCII names, which both sort in the same
    order.
    """
    plain = True
    if levels_left < 0:
        raise NotCanonical(gettext_noop("nested too deeply"))
    # `match` would take half as long again.
    if isinstance(value, str):
        if _DIRTY.search(value):
            raise _dirty_text()
    elif isinstance(value, bool) or value is None:
        pass
    elif isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise NotCanonical(
                gettext_noop("an integer is larger than 2^53; send it as a string")
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotCanonical(gettext_noop("NaN and Infinity are not JSON"))
        # Both write a fraction that is not tiny with the same digits and no exponent.
        plain = abs(value) >= 1e-4 and not value.is_integer()
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotCanonical(gettext_noop("object keys must be text"))
            if _DIRTY.search(key):
                raise _dirty_text()
            plain = _check(item, levels_left - 1) and plain and key.isascii()
    elif isinstance(value, list | tuple):
        for item in value:
            plain = _check(item, levels_left - 1) and plain
    else:
        raise NotCanonical(
            gettext_noop("%(type)s is not a JSON type"), type=type(value).__name__
        )
    return plain


def utc(moment: datetime) -> str:
    """Format a moment as ISO 8601 in UTC with microseconds: `2026-11-21T12:00:00.000000Z`."""
    return (
        moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )


def plain_number(number: float) -> float | int:
    """Return a whole number as an integer, as in its canonical form."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
