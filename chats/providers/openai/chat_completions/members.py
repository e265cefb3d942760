"""Vendors' additions to messages and calls of this API: kept while they arrive, and sent back to their model. Pure.

Some refuse every later request without them: Gemini without the signature of a thought (`extra_content`), OpenRouter without
`reasoning_details`, DeepSeek without the thought before a call, even an empty one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from approvals.db.canonical_json import clean_json, join_halves
from approvals.json_types import JsonDict, JsonMapping

#: Where servers put the thoughts of a model; OpenAI's own does not show them.
THOUGHTS = ("reasoning_content", "reasoning")
#: Members that are read, and those that only a stream has. OpenAI accepts neither speech nor calls of the older form back.
MESSAGE = frozenset(
    {"role", "content", "refusal", "tool_calls", "function_call", "audio"}
)
CALL = frozenset({"index", "id", "type", "function"})
FUNCTION = frozenset({"name", "arguments"})
#: The type of the block with the message's other members, which is never displayed.
VENDOR = "vendor"
#: Maximum characters kept of one message or call, and maximum nesting of a member.
MAX_KEPT = 1_000_000
MAX_LEVELS = 20
#: In these, equal pieces follow each other as they do in any text.
TEXTS = frozenset(
    {"content", "reasoning", "reasoning_content", "summary", "text", "thinking"}
)
#: Identifying members, which are complete in each piece.
NAMES = frozenset({"format", "id", "index", "name", "role", "status", "type"})


class VendorMembers:
    """The members of a streamed object that are not among the `known` ones. Those that are too large are left out."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._pieces: dict[str, list[Any]] = {}
        self._left_out: set[str] = set()
        self._size = 0

    def take(self, piece: JsonMapping) -> None:
        """Process a piece of the object. Null stands for nothing."""
        for name, value in piece.items():
            if name not in self._known and value is not None:
                self.add(name, value)

    def add(self, name: str, value: Any) -> None:
        """Process a piece of one member."""
        if name in self._left_out:
            return
        size = _size(name, value)
        if size is None or self._size + size > MAX_KEPT:
            # A part of it would be worthless.
            self._left_out.add(name)
            self._pieces.pop(name, None)
            return
        self._size += size
        self._pieces.setdefault(name, []).append(value)

    def kept(self) -> JsonDict:
        """Return the complete members, except those that databases cannot store: they would be sent back changed."""
        whole = {name: _merged(name, pieces) for name, pieces in self._pieces.items()}
        return {
            name: value
            for name, value in whole.items()
            if clean_json({name: value}) == {name: value}
        }


def without_names(members: JsonMapping, names: Collection[str]) -> JsonDict:
    """Return members without those of these names."""
    return {name: value for name, value in members.items() if name not in names}


def mentions(value: Any, text: str) -> bool:
    """Return whether a text is a value anywhere in JSON."""
    match value:
        case dict():
            return any(mentions(item, text) for item in value.values())
        case list():
            return any(mentions(item, text) for item in value)
        case _:
            return bool(value == text)


def _size(name: str, value: Any) -> int | None:
    """Return the approximate length of a member as JSON; None if it cannot be kept."""
    if isinstance(value, str):
        return len(name) + len(value)
    if not _is_shallow(value, MAX_LEVELS):
        return None
    try:
        return len(json.dumps({name: value}, allow_nan=False))
    except ValueError:
        return None


def _is_shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in items)


def _merged(name: str, pieces: Sequence[Any]) -> Any:
    """Return the value of a member that came in pieces: texts are joined, objects and lists are merged."""
    if all(isinstance(piece, str) for piece in pieces):
        return _text(name, pieces)
    if all(isinstance(piece, dict) for piece in pieces):
        return _object(pieces)
    if all(isinstance(piece, list) for piece in pieces):
        return _list(name, pieces)
    return pieces[-1]


def _text(name: str, pieces: Sequence[str]) -> str:
    if name in NAMES or (name not in TEXTS and _are_equal(pieces)):
        return pieces[-1]
    return join_halves("".join(pieces))


def _object(pieces: Sequence[JsonDict]) -> JsonDict:
    values: dict[str, list[Any]] = {}
    for piece in pieces:
        for name, value in piece.items():
            if value is not None:
                values.setdefault(name, []).append(value)
    return {name: _merged(name, each) for name, each in values.items()}


def _list(name: str, pieces: Sequence[list[Any]]) -> list[Any]:
    items = [item for piece in pieces for item in piece]
    if _are_equal(pieces) and not any(map(_is_text, items)):
        # The whole list came with each piece.
        items = pieces[0]
    return [_merged(name, group) for group in _groups(items)]


def _are_equal(pieces: Sequence[Any]) -> bool:
    return all(piece == pieces[0] for piece in pieces)


def _groups(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the items of a list with their pieces, in the order in which they began."""
    groups: list[list[Any]] = []
    for item in items:
        known = next(
            (
                group
                for group in reversed(groups)
                if _continues(item, group, is_last=group is groups[-1])
            ),
            None,
        )
        if known is None:
            groups.append([item])
        else:
            known.append(item)
    yield from groups


def _continues(item: Any, group: Sequence[Any], *, is_last: bool) -> bool:
    """Return whether an item is a piece of another one: it has its index, or is more text of the last one."""
    first = group[0]
    if not isinstance(item, dict) or not isinstance(first, dict):
        return False
    ids = {each["id"] for each in (first, item) if isinstance(each.get("id"), str)}
    if len(ids) > 1 or any(
        item.get(name) != first.get(name) for name in ("type", "index")
    ):
        return False
    return isinstance(item.get("index"), int) or (is_last and _is_text(item))


def _is_text(item: Any) -> bool:
    """Return whether an item of a list can be a piece of a text; a signature comes after the text that it signs."""
    return isinstance(item, dict) and any(
        name in item for name in (*TEXTS, "signature")
    )
