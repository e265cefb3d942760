"""JSON pointers (RFC 6901) into JSON documents."""

from __future__ import annotations

import re
from typing import Any

#: The result of a pointer without a target; null is a value.
ABSENT = object()
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_POINTER = re.compile(r"(/([^~/]|~[01])*)*")


def is_pointer(text: str) -> bool:
    """Return whether this is a JSON pointer: empty, or parts that each follow a `/`, with `~0` for `~` and `~1` for `/`."""
    return _POINTER.fullmatch(text) is not None


def pointer_parts(pointer: str) -> list[str]:
    """Return the names and positions of a JSON pointer."""
    return [
        part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]
    ]


def pointer_to(*names: str) -> str:
    """Return the pointer with these names as steps."""
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def value_at(value: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer, or ABSENT."""
    if pointer and not pointer.startswith("/"):
        return ABSENT
    return value_behind(value, pointer_parts(pointer))


def value_behind(value: Any, parts: list[str] | tuple[str, ...]) -> Any:
    """Return the value at the parts of a pointer, or ABSENT. Members are taken by name, items by position."""
    for part in parts:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif (
            isinstance(value, list)
            and _INDEX.fullmatch(part)
            and int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def is_blocked(value: Any, parts: list[str] | tuple[str, ...]) -> bool:
    """Return whether a pointer without a target stops at a value of a type that cannot have such a part.

    A name that an object lacks, and a position after the end of a list, are missing, not blocked.
    """
    for depth, part in enumerate(parts):
        is_position = _INDEX.fullmatch(part) is not None
        if isinstance(value, dict):
            if part not in value:
                # An object in place of a list; the whole document is always an object.
                return is_position and depth > 0
            value = value[part]
        elif isinstance(value, list) and is_position:
            if int(part) >= len(value):
                return False
            value = value[int(part)]
        else:
            return True
    return False
