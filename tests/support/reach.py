"""Everything that is reached from an object by attributes, items and members, without calling anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from django.db.models import Model, QuerySet
from django.db.models.base import ModelState
from django.utils.functional import Promise

#: The packages whose objects are followed.
_OWN = frozenset({"approvals", "chats", "hitlsite"})


class Reached:
    """Finds texts within objects; objects that several of them share are searched once."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def texts(self, root: Any) -> Iterator[tuple[str, str]]:
        """Yield every text and number within an object that was not reached before, with the way to it."""
        left: list[tuple[str, Any]] = [("", root)]
        while left:
            way, held = left.pop()
            if id(held) in self._seen and not isinstance(held, str | int | float):
                continue
            # Kept, so that no other object gets its id.
            self._seen[id(held)] = held
            if isinstance(held, str | bytes | int | float):
                yield way, str(held)
            left += ((f"{way}{step}", item) for step, item in _below(held) if item is not None)


def _below(held: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(held, Mapping):
        yield from (("[name]", name) for name in held)
        yield from ((f"[{name!r:.40}]", item) for name, item in held.items())
    elif isinstance(held, list | tuple | set | frozenset):
        yield from ((f"[{number}]", item) for number, item in enumerate(held))
    elif isinstance(held, QuerySet):
        yield "[rows]", held._result_cache
    elif isinstance(held, Promise):
        yield "", str(held)
    if isinstance(held, type) or not _is_followed(held):
        return
    yield from ((f".{name}", item) for name, item in getattr(held, "__dict__", {}).items())
    for cls in type(held).__mro__:
        if _is_own(cls):
            names = [*cls.__dict__.get("__slots__", ()), *(n for n, each in cls.__dict__.items() if _is_computed(each))]
            yield from ((f".{name}", getattr(held, name, None)) for name in names)


def _is_own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in _OWN


def _is_computed(member: Any) -> bool:
    return isinstance(member, property | cached_property)


def _is_followed(held: Any) -> bool:
    return _is_own(type(held)) or isinstance(held, Model | ModelState)
