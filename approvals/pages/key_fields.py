"""The most important values of an input: an administrator's choice for the tool, else the first simple ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking.tool_calls import Command, Fetch, recognize
from approvals.db.json_pointer import ABSENT, pointer_parts, value_at
from approvals.forms.formatted import (
    in_words,
    is_in_currency,
    repeats_currency,
    row_at,
)
from approvals.text.differences import place_of
from approvals.text.tables import MAX_LEVELS
from approvals.text.text import show_invisible, visible_name

#: How many values are shown without a choice, and how many characters of each.
MAX_FIELDS = 3
MAX_VALUE = 80
#: Tokens of JSON that matter for closing it: texts (the last one may be cut off), brackets and commas.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.?)*"?|[][{},]')


def key_values(
    value: Any,
    key_fields: Sequence[str],
    tool: str = "",
    schema: Mapping[str, Any] | None = None,
) -> list[tuple[str, str]]:
    """Return the key fields of an input as (label, text): the chosen `key_fields` that the input has.

    If none of them is there, the command that the tool runs or the address that it calls;
    else the first texts, numbers and booleans of the input. Values described by the `schema` are formatted.
    """
    return (
        _shown(value, _chosen(value, key_fields), schema)
        or _of_call(value, tool)
        or _first_values(value, schema)
    )


def read_beginning(text: str) -> Any:
    """Return the value whose JSON begins with `text`: all of it, or the members that are complete so far."""
    if not text:
        return {}
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(_closed(text))
    except RecursionError:
        return {}


def _chosen(
    value: Any, pointers: Sequence[str]
) -> Iterator[tuple[str, Sequence[str], Any]]:
    """Yield the label, the path and the value at each of these pointers."""
    for pointer in pointers:
        chosen = value_at(value, pointer)
        if chosen is not ABSENT:
            parts = pointer_parts(pointer)
            yield visible_name(parts[-1]) if parts else _("Input"), parts, chosen


def _shown(
    value: Any,
    chosen: Iterable[tuple[str, Sequence[str], Any]],
    schema: Mapping[str, Any] | None,
) -> list[tuple[str, str]]:
    """Return these values with their labels as they are shown, without a currency that stands with an amount."""
    rows = [
        (label, path, item, row_at(value, schema, path)) for label, path, item in chosen
    ]
    currencies = {row.currency for *_rest, row in rows if row is not None}
    return [
        (label, (row and in_words(row)) or short(item))
        for label, path, item, row in rows
        if not (path and repeats_currency(path[-1], item, currencies))
    ]


def _of_call(value: Any, tool: str) -> list[tuple[str, str]]:
    """Return the command or address of a call, whatever its length: no description by the agent may replace it."""
    call = recognize(tool, value) if isinstance(value, dict) else None
    return (
        [(call.member, short(value[call.member]))]
        if isinstance(call, Command | Fetch)
        else []
    )


def _first_values(
    value: Any, schema: Mapping[str, Any] | None
) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        return [("", short(value))] if value not in (None, "", []) else []
    # Those of the input itself first, and then those of the objects in it.
    members = sorted(_members(value), key=lambda member: len(member[0]))
    # Short values are more informative at a glance than long texts and lists of objects.
    brief = [(path, item) for path, item in members if _is_brief(item)]
    first = [
        (place_of(path), path, item)
        for path, item in (brief or members)[: MAX_FIELDS + 1]
    ]
    return _shown(value, first, schema)[:MAX_FIELDS]


def _is_brief(item: Any) -> bool:
    if isinstance(item, str):
        return len(item) <= MAX_VALUE
    return not (isinstance(item, list) and any(isinstance(each, dict) for each in item))


def _members(
    value: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of an object and of those in it, with their paths. An amount with its currency is one value."""
    for name, item in value.items():
        below = (*path, name)
        opens = isinstance(item, dict) and len(below) < MAX_LEVELS
        if opens and not (is_in_currency(item) and len(item) == 2):
            yield from _members(item, below)
        elif item not in (None, "", [], {}):
            yield below, item


def short(value: Any) -> str:
    """Return a masked value on one line of at most MAX_VALUE characters."""
    value = _plain(value)
    # At most this many characters can be shown, however long it is.
    text = " ".join(value[: MAX_VALUE * 4].split())
    # Secrets were masked before, since a cut-off text may end within a key.
    whole = len(text) <= MAX_VALUE and len(value) <= MAX_VALUE * 4
    return show_invisible(text) if whole else f"{show_invisible(text[:MAX_VALUE])}…"


def _plain(value: Any) -> str:
    """Return a value as words: objects as `name: value`, the items of a list one after another."""
    if isinstance(value, dict) and value:
        return ", ".join(f"{name}: {_plain(item)}" for name, item in value.items())
    if isinstance(value, list) and value:
        return ", ".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value)


def _closed(text: str) -> str:
    """Complete truncated JSON by dropping its last, possibly incomplete member and closing brackets."""
    open_brackets: list[str] = []
    best = 0
    closers = ""
    for token in _TOKENS.finditer(text):
        match token[0]:
            case "{" | "[" as bracket:
                open_brackets.append("}" if bracket == "{" else "]")
                best = token.end()
                closers = "".join(reversed(open_brackets))
            case "}" | "]" if open_brackets:
                open_brackets.pop()
                best = token.end()
                closers = "".join(reversed(open_brackets))
            case ",":
                best = token.start()
                closers = "".join(reversed(open_brackets))
    return text[:best] + closers if best else "{}"
