"""What a rule has to say of an input so that it lets through no more than the inputs that it was made from. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from approvals.db.canonical_json import canonical
from approvals.db.json_pointer import pointer_to, value_at
from approvals.policy.value_types import ValueType, is_number, is_of
from approvals.text.secrets import Hidden

#: Levels of an input, and the values that it can have at one place.
MAX_DEPTH, MAX_VALUES = 4, 50
#: Characters of a value that a rule names.
MAX_TEXT = 100
#: So many different addresses of one domain stand for the whole domain.
SEVERAL = 5
#: Names of members that hold words for people, which are never the same.
PROSE = frozenset(
    ("body", "comment", "description", "message", "note", "notes", "reason", "subject", "summary", "text", "title")
)

Shape = tuple[tuple[str, str], ...]
Tested = dict[str, Any]


def shape_of(value: Mapping[str, Any]) -> Shape | None:
    """Return the pointers of an input, each with the kind of what it points to; None if it is too deep, or has secrets."""
    places = list(_places(value, (), 0))
    return (
        None if any(kind is None for _pointer, kind in places) else tuple((place, str(kind)) for place, kind in places)
    )


def bounds_of(values: Sequence[Mapping[str, Any]], shape: Shape) -> list[Tested] | None:
    """Return the conditions of a match that inputs of one shape meet, and no others beyond them.

    None if that cannot be said, or if all that they say is that anything may be there.
    """
    conditions = []
    for pointer, kind in shape:
        condition = _bound(pointer, kind, [value_at(value, pointer) for value in values])
        if condition is None:
            return None
        conditions.append(condition)
    return conditions if any(map(_narrows, conditions)) else None


def domains_of(value: Any) -> set[str]:
    """Return the domains of one address or of a list of addresses; none of anything else."""
    items = value if is_of(ValueType.ADDRESSES, value) else [value] if is_of(ValueType.ADDRESS, value) else []
    return {item.rpartition("@")[2].lower() for item in items}


def _places(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[str, str | None]]:
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
        return {"pointer": pointer, "type": str(ValueType.LINE if in_lines else ValueType.TEXT)}
    return _one_of(pointer, values)


def _recipients(pointer: str, type_: ValueType, values: Sequence[Any]) -> Tested | None:
    """Return the condition of addresses: those that were seen, or their domain if they are several of one."""
    seen = {item for value in values for item in (value if isinstance(value, list) else [value])}
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
    """Return whether values come again, so that a rule that names them is of use: most are not new each time."""
    return len(different) <= min(MAX_VALUES, max(1, len(values) // 2))


def _narrows(condition: Tested) -> bool:
    """Return whether a condition is about the value itself: more than which members there are, or that it is text."""
    return not condition.keys() <= {"pointer", "type", "members"}
