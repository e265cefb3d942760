"""Conditions that a rule needs in order to match no more than the inputs it was made from. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from approvals.db.canonical_json import canonical
from approvals.db.json_pointer import pointer_to, value_at
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.value_types import ValueType, is_number, is_of
from approvals.text.secrets import Hidden

#: Maximum depth of an input, and maximum number of values at one place.
MAX_DEPTH = 4
MAX_VALUES = 50
#: Maximum length of a value in a rule.
MAX_TEXT = 100
#: This many different addresses of a domain stand for the whole domain.
SEVERAL = 5
#: Names of members with free text, which differs in every call.
PROSE = frozenset(
    (
        "body",
        "comment",
        "description",
        "message",
        "note",
        "notes",
        "reason",
        "subject",
        "summary",
        "text",
        "title",
    )
)

Shape = tuple[tuple[str, str], ...]
Tested = JsonDict


def shape_of(value: JsonMapping) -> Shape | None:
    """Return an input's pointers, each with the kind of its value; None if it is too deep or has secrets."""
    places = list(_places(value, (), 0))
    return (
        None
        if any(kind is None for _pointer, kind in places)
        else tuple((place, str(kind)) for place, kind in places)
    )


def bounds_of(values: Sequence[JsonMapping], shape: Shape) -> list[Tested] | None:
    """Return match conditions that cover these inputs of one shape and nothing beyond them.

    Return None if that is impossible, or if the conditions would not narrow anything.
    """
    conditions = []
    for pointer, kind in shape:
        condition = _bound(
            pointer, kind, [value_at(value, pointer) for value in values]
        )
        if condition is None:
            return None
        conditions.append(condition)
    return conditions if any(map(_narrows, conditions)) else None


def domains_of(value: Any) -> set[str]:
    """Return the domains in an address or a list of addresses; empty for other values."""
    if is_of(ValueType.ADDRESSES, value):
        addresses = value
    else:
        addresses = [value] if is_of(ValueType.ADDRESS, value) else []
    return {address.rpartition("@")[2].lower() for address in addresses}


def _places(
    value: Any, path: tuple[str, ...], depth: int
) -> Iterator[tuple[str, str | None]]:
    pointer = pointer_to(*path)
    if isinstance(value, dict) and value:
        yield pointer, "object" if depth < MAX_DEPTH else None
        for name in sorted(value) if depth < MAX_DEPTH else ():
            yield from _places(value[name], (*path, name), depth + 1)
    elif is_number(value):
        yield pointer, "number"
    elif isinstance(value, str):
        yield pointer, None if isinstance(value, Hidden) else "text"
    else:
        yield pointer, None if _hides(value) else "other"


def _hides(value: Any) -> bool:
    match value:
        case dict() as members:
            return any(map(_hides, members.values()))
        case list() as items:
            return any(map(_hides, items))
    return isinstance(value, Hidden)


def _bound(pointer: str, kind: str, values: Sequence[Any]) -> Tested | None:
    if kind == "object":
        return {"pointer": pointer, "members": sorted(values[0])}
    if kind == "number":
        return {"pointer": pointer, "at_least": min(values), "at_most": max(values)}
    for type_ in (ValueType.ADDRESS, ValueType.ADDRESSES):
        if all(is_of(type_, value) for value in values):
            return _recipients(pointer, type_, values)
    if kind == "text" and pointer.rpartition("/")[2].lower() in PROSE:
        in_lines = all(is_of(ValueType.LINE, value) for value in values)
        return {
            "pointer": pointer,
            "type": str(ValueType.LINE if in_lines else ValueType.TEXT),
        }
    return _one_of(pointer, values)


def _recipients(pointer: str, type_: ValueType, values: Sequence[Any]) -> Tested | None:
    """Return the condition for addresses: the seen ones, or their domain if several share one."""
    seen = {
        item
        for value in values
        for item in (value if isinstance(value, list) else [value])
    }
    domains = {domain for value in values for domain in domains_of(value)}
    typed = {"pointer": pointer, "type": str(type_)}
    if len(domains) == 1 and len(seen) >= SEVERAL:
        return typed | {"like": f"*@{domains.pop()}"}
    return typed | {"one_of": sorted(seen)} if _recur(seen, values) else None


def _one_of(pointer: str, values: Sequence[Any]) -> Tested | None:
    different = {canonical(value): value for value in values}
    if not _recur(different, values) or any(len(text) > MAX_TEXT for text in different):
        return None
    return {"pointer": pointer, "one_of": list(different.values())}


def _recur(different: Collection[Any], values: Sequence[Any]) -> bool:
    """Return whether most values occur more than once, so that it is useful for a rule to list them."""
    return len(different) <= min(MAX_VALUES, len(values) // 2)


def _narrows(condition: Tested) -> bool:
    """Return whether a condition limits the value itself, beyond the names of its members or being text."""
    return bool(condition.keys() - {"pointer", "type", "members"})
