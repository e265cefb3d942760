"""The differences of two JSON objects for people: path, value before, value after."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from django.utils.translation import gettext as _

from approvals.json_types import JsonMapping
from approvals.text.alignment import ABSENT, Opened, align_values, both_objects
from approvals.text.secrets import comparable, masked
from approvals.text.tables import pretty
from approvals.text.text import visible, visible_name

#: Path, value before, value after; None for an absent value.
Change = tuple[str, str | None, str | None]


def changes(
    before: JsonMapping, after: JsonMapping, secrets: Collection[str] = ()
) -> list[Change]:
    """Return the differences of two objects, written so that different values never look the same. Secrets are masked."""
    differences: list[Change] = []
    for path, *sides in align_values(
        masked(before, secrets), masked(after, secrets), _opened
    ):
        if _written(sides[0]) == _written(sides[1]):
            continue
        was, now = (None if side is ABSENT else pretty(side) for side in sides)
        if was == now:
            text = _text(sides[1])
            differences.append(
                (place_of(path), text, _("%(value)s, changed") % {"value": text})
            )
        else:
            plain = [None if side is ABSENT else _text(side) for side in sides]
            # Quotes distinguish a text from a number with the same characters, and show an empty text.
            clear = plain[0] != plain[1] and all(
                each is None or each.strip() for each in plain
            )
            differences.append((place_of(path), *(plain if clear else (was, now))))
    return differences


def changed_members(before: JsonMapping, after: JsonMapping) -> set[str]:
    """Return the names, as tables show them, of the members of a masked object that are new or were different before."""
    return {
        visible_name(name)
        for name, value in after.items()
        if _written(before.get(name, ABSENT)) != _written(value)
    }


def _written(side: Any) -> str | None:
    return None if side is ABSENT else json.dumps(comparable(side))


def _opened(left: Any, right: Any) -> Opened:
    """Return two objects; lists of equally many objects become objects keyed by number, counted from 1."""
    lists = (
        isinstance(left, list) and isinstance(right, list) and len(left) == len(right)
    )
    if lists and all(isinstance(item, dict) for item in (*left, *right)):
        left, right = (
            {str(number): item for number, item in enumerate(side, 1)}
            for side in (left, right)
        )
    return both_objects(left, right)


def place_of(path: Iterable[str]) -> str:
    """Return a path in words: the member names joined."""
    return ".".join(map(step_of, path))


def step_of(name: str) -> str:
    """Return a name as a step of a path, whose steps are separated by dots."""
    return visible_name(
        json.dumps(name, ensure_ascii=False) if "." in name or not name else name
    )


def _text(value: Any) -> str:
    """Return a string unchanged and any other value as JSON, with invisible characters made visible."""
    return visible(value) if isinstance(value, str) else pretty(value)
