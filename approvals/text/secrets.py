"""Hide secrets in texts and JSON values: by field name, JSON pointer, and format of known keys.

A value that contains a secret becomes `Hidden`, a text that describes the secret and its place. The secret itself stays with the
original value: code that needs it, such as to restore it in an edit, takes that value again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from operator import is_, is_not
from secrets import token_bytes
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals.json_types import JsonDict, JsonMapping
from approvals.text.secret_shapes import (
    MAX_NAME,
    Shape,
    hints_in,
    plain_name,
    says_secret,
)

#: Every mask begins with this character, in every language.
MARK = "⟨•••"
#: Minimum length of a key whose last characters are shown.
LONG = 24
LAST = 4
#: Minimum lengths of the length classes: masks reveal no more about a secret's length.
LENGTHS = (8, 16, 32, 64)
#: Members, in lower case, that hold the name of a variable or header, and those that hold its value.
_NAMING = ("name", "key", "header", "variable", "parameter", "parameterkey")
_VALUED = frozenset({"value", "values", "parametervalue"})
#: A command option, whose value is the next item of a list.
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]{1,60})", re.ASCII)
_MASK = re.compile(f"{MARK}[^⟩]*⟩")


#: Key of the `marks`, which are valid only in this process.
_KEY = token_bytes(32)


class Hidden(str):
    """The display of a text or number that contains a secret. It does not hold the secret.

    `pointer` is the place of the value, with masked names where a step contains a secret; `is_name` means the name of the member
    there. `rest` is the text without its masks. `is_text` and `has_lines` describe the kind of value. `marks` are equal for equal
    secrets, in order, so that two values that look the same can be told apart.
    """

    pointer: str
    is_name: bool
    rest: str
    is_text: bool
    has_lines: bool
    marks: Sequence[str]

    @classmethod
    def of(
        cls,
        shown: str,
        value: Any,
        marks: Sequence[str],
        *,
        rest: str = "",
        pointer: str = "",
    ) -> Hidden:
        hidden = cls(shown)
        hidden.marks = marks
        hidden.rest = rest
        hidden.is_text = isinstance(value, str)
        hidden.has_lines = isinstance(value, str) and "\n" in value
        hidden.pointer = pointer
        hidden.is_name = False
        return hidden

    def at(self, pointer: str, *, is_name: bool = False, more: str = "") -> Hidden:
        """Return a copy with its pointer; `more` is appended to the text."""
        hidden = Hidden(f"{self}{more}")
        hidden.marks = self.marks
        hidden.rest = self.rest
        hidden.is_text = self.is_text
        hidden.has_lines = self.has_lines
        hidden.pointer = pointer
        hidden.is_name = is_name
        return hidden

    @property
    def handle(self) -> tuple[str, bool]:
        """The key under which the true value is found; see `text/true_values`."""
        return self.pointer, self.is_name

    @property
    def is_whole(self) -> bool:
        """Whether the whole value is secret."""
        return not self.rest


def mask_text(text: str) -> str:
    """Return the text with its keys masked as `Hidden`; the same object if it has none."""
    shapes = hints_in(text)
    if not shapes or isinstance(text, Hidden):
        return text
    shown, parts = _with_masks(text, shapes)
    if not parts:
        return text
    return Hidden.of(
        shown,
        text,
        [_mark(secret) for _mask, secret in parts],
        rest=_MASK.sub(" ", shown).strip(),
    )


def masks_in(text: str) -> tuple[str, Sequence[tuple[str, str]]]:
    """Return the text with its keys masked, and each mask with its hidden text."""
    return _with_masks(text, hints_in(text))


def _with_masks(
    text: str, shapes: Sequence[Shape]
) -> tuple[str, Sequence[tuple[str, str]]]:
    shown = str(text)
    parts: list[tuple[str, str]] = []
    for shape in shapes:

        def mask(
            match: Any, label: Any = shape.label, ends: bool = shape.shows_end
        ) -> str:
            groups = match.re.groupindex
            if "name" in groups and not says_secret(match["name"]):
                return str(match[0])
            group = groups.get("secret", 1 if match.re.groups else 0)
            secret = match[group]
            masked_key = _mask(str(label), _ending(secret) if ends else "")
            parts.append((masked_key, secret))
            at = match.start(group) - match.start()
            until = match.end(group) - match.start()
            return f"{match[0][:at]}{masked_key}{match[0][until:]}"

        shown = shape.pattern.sub(mask, shown)
    return shown, parts


def _mark(secret: Any) -> str:
    return blake2b(json.dumps(secret).encode(), key=_KEY, digest_size=16).hexdigest()


def masked(value: Any, secrets: Collection[str] = (), at: str = "") -> Any:
    """Return a JSON value with its secrets as `Hidden`; the same object if it has none.

    `secrets` are field names, and JSON pointers in which `*` stands for any member. `at` is the pointer to the value.
    """
    names = _names(tuple(settings.HITL_SECRET_FIELDS))
    if not secrets:
        return _masked(value, names, (), at, "")
    whole = "value" if "" in secrets else ""
    pointers = tuple(
        tuple(pointer.split("/")[1:]) for pointer in secrets if pointer.startswith("/")
    )
    return _masked(
        value,
        names | {plain_name(name) for name in secrets if name[:1] not in ("", "/")},
        pointers,
        at,
        whole,
    )


def _is_secret(name: str, names: frozenset[str]) -> bool:
    """Return whether a field's value is secret, by its name or because it is in the configured `names`."""
    return says_secret(name) or (
        bool(names) and len(name) <= MAX_NAME and plain_name(name) in names
    )


@lru_cache(maxsize=8)
def _names(more: Sequence[str]) -> frozenset[str]:
    return frozenset(map(plain_name, more))


def _masked(
    value: Any,
    names: frozenset[str],
    pointers: Sequence[Sequence[str]],
    at: str,
    secret: str,
) -> Any:
    """Return the masked value; `secret` is the name of the field that makes all of it secret."""
    match value:
        case Hidden():
            return value
        case str():
            shown = mask_text(value)
            hidden = shown if isinstance(shown, Hidden) else None
            if value and secret and not (hidden is not None and hidden.is_whole):
                return _whole(value, at, secret)
            return value if hidden is None else hidden.at(at)
        case bool() | None:
            return value
        case int() | float():
            return _whole(value, at, secret) if secret else value
        case dict():
            return _members(value, names, pointers, at, secret)
        case list():
            return _items(value, names, pointers, at, secret)
        case _:
            return value


def _members(
    value: JsonMapping,
    names: frozenset[str],
    pointers: Sequence[Sequence[str]],
    at: str,
    secret: str,
) -> Any:
    members: JsonDict = {}
    named = _named_secret(value, names)
    for name, item in value.items():
        step = name.replace("~", "~0").replace("/", "~1")
        inner = secret or (name if _is_secret(name, names) else "")
        if pointers:
            inner = inner or _ends(pointers, step)
        if named and name.casefold() in _VALUED:
            inner = inner or named
        shown = mask_text(name)
        place = f"{at}/{step}"
        if shown is not name or name in members:
            shown = _name_apart(shown, members, at)
            place = f"{at}/{_step(shown)}"
        members[shown] = _masked(
            item, names, _below(pointers, step) if pointers else (), place, inner
        )
    same = all(map(is_, members.values(), value.values())) and all(
        map(is_, members, value)
    )
    return value if same else members


def _name_apart(shown: str, members: Collection[str], at: str) -> Hidden:
    """Return a hidden name, unlike those of the other members: two names that look alike are both shown."""
    hidden = (
        shown if isinstance(shown, Hidden) else Hidden.of(shown, shown, [_mark(shown)])
    )
    spaces = ""
    while f"{hidden}{spaces}" in members:
        spaces += " "
    return hidden.at(f"{at}/{_step(hidden + spaces)}", is_name=True, more=spaces)


def _step(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _named_secret(value: JsonMapping, names: frozenset[str]) -> str:
    """Return the secret name in an object such as `{"name": "DB_PASSWORD", "value": "…"}`; empty if there is none."""
    if _VALUED.isdisjoint(map(str.casefold, value)):
        return ""
    for name, item in value.items():
        if (
            name.casefold() in _NAMING
            and isinstance(item, str)
            and _is_secret(item, names)
        ):
            return item
    return ""


def _items(
    value: list[Any],
    names: frozenset[str],
    pointers: Sequence[Sequence[str]],
    at: str,
    secret: str,
) -> Any:
    items = []
    pairs = all(
        isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)
        for item in value
    )
    for number, item in enumerate(value):
        step = str(number)
        inner = secret
        below: Sequence[Sequence[str]] = ()
        if pointers:
            inner = inner or _ends(pointers, step)
            below = _below(pointers, step)
        place = f"{at}/{step}"
        if pairs and not inner and _is_secret(item[0], names):
            first = _masked(
                item[0], names, _below(below, "0"), f"{place}/0", _ends(below, "0")
            )
            pair = [
                first,
                _masked(item[1], names, _below(below, "1"), f"{place}/1", item[0]),
            ]
            items.append(pair if any(map(is_not, pair, item)) else item)
        else:
            inner = inner or _option_before(value, number, names)
            items.append(_masked(item, names, below, place, inner))
    return items if any(map(is_not, items, value)) else value


def _option_before(items: Sequence[Any], number: int, names: frozenset[str]) -> str:
    """Return the secret option before this command argument, which makes it a secret value; empty if there is none."""
    before = items[number - 1] if number else None
    item = items[number]
    if not isinstance(before, str) or not isinstance(item, str) or item.startswith("-"):
        return ""
    option = _OPTION.fullmatch(before)
    return option[1] if option is not None and _is_secret(option[1], names) else ""


def _below(pointers: Sequence[Sequence[str]], step: str) -> Sequence[Sequence[str]]:
    """Return the remainders of the pointers that lead through this step."""
    return [
        pointer[1:] for pointer in pointers if pointer and pointer[0] in (step, "*")
    ]


def _ends(pointers: Sequence[Sequence[str]], step: str) -> str:
    """Return the name of a member that a pointer ends at; empty if there is none."""
    return (
        step
        if any(len(pointer) == 1 and pointer[0] in (step, "*") for pointer in pointers)
        else ""
    )


def _whole(value: Any, at: str, secret: str) -> Hidden:
    label = (
        _("password")
        if "pass" in plain_name(secret) or plain_name(secret) == "pwd"
        else _("secret value")
    )
    shown = _mask(label, _length(len(str(value))))
    return Hidden.of(shown, value, [_mark(value)], pointer=at)


def _mask(label: str, more: str) -> str:
    words = _("hidden: %(what)s") % {"what": f"{label}, {more}" if more else label}
    return f"{MARK} {words}⟩"


def _ending(secret: str) -> str:
    return (
        _("ending in %(last)s") % {"last": secret[-LAST:]}
        if len(secret) >= LONG
        else ""
    )


def _length(characters: int) -> str:
    if characters < LENGTHS[0]:
        return _("fewer than %(limit)s characters") % {"limit": LENGTHS[0]}
    if characters >= LENGTHS[-1]:
        return _("%(limit)s characters or more") % {"limit": LENGTHS[-1]}
    least = max(limit for limit in LENGTHS if limit <= characters)
    return _("%(least)s to %(most)s characters") % {
        "least": least,
        "most": least * 2 - 1,
    }


def hidden_in(value: Any) -> Iterator[Hidden]:
    """Yield all hidden parts of a masked value."""
    match value:
        case Hidden():
            yield value
        case dict():
            for name, item in value.items():
                yield from hidden_in(name)
                yield from hidden_in(item)
        case list() | tuple():
            for item in value:
                yield from hidden_in(item)


def comparable(shown: Any) -> Any:
    """Return a masked value as JSON that is equal only for equal true values, for comparison, never for display."""
    match shown:
        case Hidden():
            return f"{shown}{' '.join(shown.marks)}"
        case dict():
            return {comparable(name): comparable(item) for name, item in shown.items()}
        case list():
            return [comparable(item) for item in shown]
        case _:
            return shown
