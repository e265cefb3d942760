"""Hide secrets in texts and JSON values: by the names of fields, by JSON pointers, and by the shapes of known keys.

A value with a secret in it becomes `Hidden`, a text that says what is hidden and remembers the true value, so that an edit can
keep it. Nothing that is shown to a person may be made of the true value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals.text.key_shapes import hints_in
from approvals.text.secret_names import MAX_NAME, plain_name, says_secret

#: Every mask begins so, in every language.
MARK = "⟨•••"
#: A key of at least so many characters is known by its last ones.
LONG, LAST = 24, 4
#: The least length of each class of lengths: no mask says more about how long a secret is.
LENGTHS = (8, 16, 32, 64)
#: Names of members, in lower case, that hold the name of a variable or a header, and of those that hold its value.
_NAMING = ("name", "key", "header", "variable", "parameter", "parameterkey")
_VALUED = frozenset({"value", "values", "parametervalue"})
#: An option of a command, whose value is the next item of a list.
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]{1,60})", re.ASCII)
_MASK = re.compile(f"{MARK}[^⟩]*⟩")


class Hidden(str):
    """What people read in place of a text or number with a secret in it.

    `value` is the true one. `parts` are its masks with what each hides, in order, `rest` is the text without these, and `pointer`
    says where it is.
    """

    value: Any
    parts: Sequence[tuple[str, Any]]
    rest: str
    pointer: str

    @classmethod
    def of(cls, shown: str, value: Any, parts: Sequence[tuple[str, Any]], rest: str = "", pointer: str = "") -> Hidden:
        hidden = cls(shown)
        hidden.value, hidden.parts, hidden.rest, hidden.pointer = value, parts, rest, pointer
        return hidden

    @property
    def is_whole(self) -> bool:
        """Whether the whole value is secret."""
        return not self.rest


class StillHidden(ValueError):
    """A value that was sent contains a mask where nothing is known to be hidden."""


def mask_text(text: str) -> str:
    """Return the text with the keys in it masked; `Hidden` if there are any, else the very same text."""
    shapes = hints_in(text)
    if not shapes or isinstance(text, Hidden):
        return text
    shown = str(text)
    parts: list[tuple[str, Any]] = []
    for shape in shapes:

        def mask(match: Any, label: Any = shape.label, ends: bool = shape.shows_end) -> str:
            groups = match.re.groupindex
            if "name" in groups and not says_secret(match["name"]):
                return str(match[0])
            group = groups.get("secret", 1 if match.re.groups else 0)
            secret = match[group]
            masked_key = _mask(str(label), _ending(secret) if ends else "")
            parts.append((masked_key, secret))
            at, until = match.start(group) - match.start(), match.end(group) - match.start()
            return f"{match[0][:at]}{masked_key}{match[0][until:]}"

        shown = shape.pattern.sub(mask, shown)
    if not parts:
        return text
    return Hidden.of(shown, text, parts, _MASK.sub(" ", shown).strip())


def masked(value: Any, secrets: Collection[str] = (), at: str = "") -> Any:
    """Return a JSON value with its secrets as `Hidden`; the very same value if it has none.

    `secrets` are names of fields, and JSON pointers in which `*` stands for any member. `at` is the pointer to the value.
    """
    names = _names(tuple(settings.HITL_SECRET_FIELDS))
    if not secrets:
        return _masked(value, names, (), at, "")
    whole = "value" if "" in secrets else ""
    pointers = tuple(tuple(pointer.split("/")[1:]) for pointer in secrets if pointer.startswith("/"))
    return _masked(
        value, names | {plain_name(name) for name in secrets if name[:1] not in ("", "/")}, pointers, at, whole
    )


def _is_secret(name: str, names: frozenset[str]) -> bool:
    """Return whether the value of a field is secret: if its name says so, or is among the `names` that were added."""
    return says_secret(name) or (len(name) <= MAX_NAME and plain_name(name) in names)


@lru_cache(maxsize=8)
def _names(more: Sequence[str]) -> frozenset[str]:
    return frozenset(map(plain_name, more))


def _masked(value: Any, names: frozenset[str], pointers: Sequence[Sequence[str]], at: str, secret: str) -> Any:
    """Return the masked value; `secret` is the name of the field that makes all of it secret."""
    match value:
        case Hidden():
            return value
        case str():
            return _leaf(value, at, secret) if value else value
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
    value: Mapping[str, Any], names: frozenset[str], pointers: Sequence[Sequence[str]], at: str, secret: str
) -> Any:
    members: dict[str, Any] = {}
    named = _named_secret(value, names)
    for name, item in value.items():
        step = name.replace("~", "~0").replace("/", "~1")
        inner = secret or (name if _is_secret(name, names) else "") or _ends(pointers, step)
        if named and name.casefold() in _VALUED:
            inner = inner or named
        shown = mask_text(name)
        while shown is not name and shown in members:
            # Two keys that look alike are both shown.
            shown = Hidden.of(f"{shown} ", name, [(f"{shown} ", name)])
        members[shown] = _masked(item, names, _below(pointers, step) if pointers else (), f"{at}/{step}", inner)
    same = all(map(_is, members.values(), value.values())) and all(map(_is, members, value))
    return value if same else members


def _named_secret(value: Mapping[str, Any], names: frozenset[str]) -> str:
    """Return the secret that an object such as `{"name": "DB_PASSWORD", "value": "…"}` names; empty if it names none."""
    if _VALUED.isdisjoint(map(str.casefold, value)):
        return ""
    for name, item in value.items():
        if name.casefold() in _NAMING and isinstance(item, str) and _is_secret(item, names):
            return item
    return ""


def _items(value: list[Any], names: frozenset[str], pointers: Sequence[Sequence[str]], at: str, secret: str) -> Any:
    items = []
    pairs = all(isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) for item in value)
    for number, item in enumerate(value):
        step = str(number)
        inner, below, place = secret or _ends(pointers, step), _below(pointers, step), f"{at}/{step}"
        if pairs and not inner and _is_secret(item[0], names):
            first = _masked(item[0], names, _below(below, "0"), f"{place}/0", _ends(below, "0"))
            pair = [first, _masked(item[1], names, _below(below, "1"), f"{place}/1", item[0])]
            items.append(pair if any(map(_differs, pair, item)) else item)
        else:
            inner = inner or _option_before(value, number, names)
            items.append(_masked(item, names, below, place, inner))
    return items if any(map(_differs, items, value)) else value


def _option_before(items: Sequence[Any], number: int, names: frozenset[str]) -> str:
    """Return the secret whose value this argument of a command is, by the option before it; empty if it is none."""
    before, item = items[number - 1] if number else None, items[number]
    if not isinstance(before, str) or not isinstance(item, str) or item.startswith("-"):
        return ""
    option = _OPTION.fullmatch(before)
    return option[1] if option is not None and _is_secret(option[1], names) else ""


def _is(left: Any, right: Any) -> bool:
    return left is right


def _differs(left: Any, right: Any) -> bool:
    return left is not right


def _below(pointers: Sequence[Sequence[str]], step: str) -> Sequence[Sequence[str]]:
    """Return what is left of the pointers that lead through this step."""
    return [pointer[1:] for pointer in pointers if pointer and pointer[0] in (step, "*")]


def _ends(pointers: Sequence[Sequence[str]], step: str) -> str:
    """Return the name of a member to which a pointer leads; empty if none does."""
    return step if any(len(pointer) == 1 and pointer[0] in (step, "*") for pointer in pointers) else ""


def _leaf(value: str, at: str, secret: str) -> str:
    shown = mask_text(value)
    if secret and not (isinstance(shown, Hidden) and shown.is_whole):
        return _whole(value, at, secret)
    return Hidden.of(shown, value, shown.parts, shown.rest, at) if isinstance(shown, Hidden) else value


def _whole(value: Any, at: str, secret: str) -> Hidden:
    label = _("password") if "pass" in plain_name(secret) or plain_name(secret) == "pwd" else _("secret value")
    shown = _mask(label, _length(len(str(value))))
    return Hidden.of(shown, value, [(shown, value)], pointer=at)


def _mask(label: str, more: str) -> str:
    words = _("hidden: %(what)s") % {"what": f"{label}, {more}" if more else label}
    return f"{MARK} {words}⟩"


def _ending(secret: str) -> str:
    return _("ending in %(last)s") % {"last": secret[-LAST:]} if len(secret) >= LONG else ""


def _length(characters: int) -> str:
    if characters < LENGTHS[0]:
        return _("fewer than %(limit)s characters") % {"limit": LENGTHS[0]}
    if characters >= LENGTHS[-1]:
        return _("%(limit)s characters or more") % {"limit": LENGTHS[-1]}
    least = max(limit for limit in LENGTHS if limit <= characters)
    return _("%(least)s to %(most)s characters") % {"least": least, "most": least * 2 - 1}


def hidden_in(value: Any) -> Iterator[Hidden]:
    """Yield everything that is hidden in a masked value."""
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


def true_value(shown: Any) -> Any:
    """Return the value behind a masked one, to compare it and never to show it."""
    match shown:
        case Hidden():
            return shown.value
        case dict():
            return {true_value(name): true_value(item) for name, item in shown.items()}
        case list():
            return [true_value(item) for item in shown]
        case _:
            return shown


def restored(sent: Any, shown: Any) -> Any:
    """Return a value that a person sent with what is hidden in `shown` in place of its masks, each at its own place only.

    Raise StillHidden for a mask anywhere else: a secret must not be moved by someone who may not read it.
    """
    match sent:
        case Hidden():
            return sent.value
        case str() if isinstance(shown, Hidden) and sent == shown:
            return shown.value
        case str():
            for mask, secret in shown.parts if isinstance(shown, Hidden) else ():
                sent = sent.replace(mask, str(secret), 1)
            was = shown.value if isinstance(shown, Hidden) else shown
            if MARK in sent and MARK not in str(was):
                raise StillHidden
            return sent
        case dict():
            known = shown if isinstance(shown, dict) else {}
            names = {name: name for name in known}
            return {
                restored(name, names.get(name, name)): restored(item, known.get(name)) for name, item in sent.items()
            }
        case list():
            items = shown if isinstance(shown, list) else []
            return [restored(item, items[at] if at < len(items) else None) for at, item in enumerate(sent)]
        case _:
            return sent


def concealed(value: Any, shown: Any) -> Any:
    """Return a value with what is hidden in `shown` hidden again, wherever it is. What someone else wrote stays as it is."""
    every = [part for hidden in hidden_in(shown) for part in hidden.parts]
    return _concealed(value, shown, every) if every else value


def _concealed(value: Any, shown: Any, every: Sequence[tuple[str, Any]]) -> Any:
    match value:
        case _ if isinstance(shown, Hidden) and value == shown.value:
            return shown
        case dict():
            known = shown if isinstance(shown, dict) else {}
            names = {name.value if isinstance(name, Hidden) else name: name for name in known}
            return {
                names.get(name, name): _concealed(item, known.get(names.get(name, name)), every)
                for name, item in value.items()
            }
        case list():
            items = shown if isinstance(shown, list) else []
            return [_concealed(item, items[at] if at < len(items) else None, every) for at, item in enumerate(value)]
        case str():
            for mask, secret in every:
                if value == secret or (isinstance(secret, str) and len(secret) >= LENGTHS[0]):
                    value = value.replace(secret, mask)
            return value
        case _:
            return value
