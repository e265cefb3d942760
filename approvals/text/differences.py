"""The differences of two JSON objects as a person reads them: by path, each value before and after."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from approvals.text.tables import pretty
from approvals.text.text import visible, visible_name

#: Path, value before, value after; None where the value is absent.
Change = tuple[str, str | None, str | None]


def changes(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> list[Change]:
    """Return the differences of two objects, written so that values that differ never read alike."""
    found: list[Change] = []
    before, after = _with_lists(before, after), _with_lists(after, before)
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        place = f"{path}.{step_of(name)}" if path else step_of(name)
        if name in before and name in after and isinstance(one, dict) and isinstance(other, dict) and one and other:
            found += changes(one, other, place)
            continue
        was, now = (pretty(side[name]) if name in side else None for side in (before, after))
        if was != now:
            plain = [_text(side[name]) if name in side else None for side in (before, after)]
            # Quotes distinguish a text from a number with the same characters, and show an empty text.
            clear = plain[0] != plain[1] and all(each is None or each.strip() for each in plain)
            found.append((place, *(plain if clear else (was, now))))
    return found


def _with_lists(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with lists of objects, where both sides have as many, as objects by number, counted from 1."""
    return {name: _numbered(item) if _alike_lists(item, other.get(name)) else item for name, item in one.items()}


def _alike_lists(one: Any, other: Any) -> bool:
    lists = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
    return lists and all(isinstance(item, dict) for item in (*one, *other))


def _numbered(items: Sequence[Any]) -> dict[str, Any]:
    return {str(number): item for number, item in enumerate(items, 1)}


def step_of(name: str) -> str:
    """Return a name as a step of a path, whose steps are separated by dots."""
    return visible_name(json.dumps(name, ensure_ascii=False) if "." in name or not name else name)


def _text(value: Any) -> str:
    """Return a string as it is, and any other value as JSON, with invisible characters made visible."""
    return visible(value) if isinstance(value, str) else pretty(value)
