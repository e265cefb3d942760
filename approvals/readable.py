"""JSON values as tables that can be read: nested ones too, long ones folded with a count, nothing left out unsaid."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.visible import visible, visible_json

#: A text of more characters is folded after as many; objects and lists after so many values.
SHOWN_CHARACTERS = 400
SHOWN_VALUES = 20
#: Deeper than this a value is shown as JSON.
MAX_LEVELS = 4
#: Values in one table, all told; what is beyond is in the raw view.
MAX_VALUES = 500
#: A text of more characters than this gets a block of its own.
LINE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table: a `value` in words, or `rows` of its own.

    `block` where the value needs more than a line; `folded` is the value whole where only its beginning is shown, and
    `more` the rows that are folded, both behind the words `fold`.
    """

    name: str
    value: str = ""
    block: bool = False
    folded: str = ""
    rows: Sequence[Row] = ()
    more: Sequence[Row] = ()
    fold: str = ""


def rows(value: Any) -> list[Row]:
    """A JSON object as lines of a table; anything else as one line."""
    counter = iter(range(MAX_VALUES))
    items = list((value if isinstance(value, dict) else {"": value}).items())
    return [*(_row(name, item, 1, counter) for name, item in items[:MAX_VALUES]), *_left_out(items)]


def _row(name: str, value: Any, level: int, counter: Iterator[int]) -> Row:
    left, name = next(counter, None) is not None, visible(name)
    match value:
        case dict() | list() if value and not (left and level < MAX_LEVELS):
            return Row(name=name, value=pretty(value), block=True)
        case dict() if value:
            return _table(name, list(value.items()), level, counter)
        case list() if value and all(isinstance(one, bool | int | float | None) for one in value) and len(value) < 30:
            return Row(name=name, value=", ".join(map(pretty, value)))
        case list() if value:
            return _table(name, [(str(place), item) for place, item in enumerate(value, 1)], level, counter)
        case str():
            return _text(name, value)
        case _:
            return Row(name=name, value=pretty(value))


def _table(name: str, items: list[tuple[str, Any]], level: int, counter: Iterator[int]) -> Row:
    found = [*(_row(inner, item, level + 1, counter) for inner, item in items[:MAX_VALUES]), *_left_out(items)]
    more = found[SHOWN_VALUES:] if len(found) > SHOWN_VALUES + 2 else ()
    words = ngettext("%(count)s more value", "%(count)s more values", len(more)) % {"count": f"{len(more):,}"}
    return Row(name=name, rows=found[: len(found) - len(more)], more=more, fold=words if more else "")


def _left_out(items: Sequence[Any]) -> list[Row]:
    """The last line of a table that does not show everything: how many are left."""
    left = len(items) - MAX_VALUES
    words = ngettext("%(count)s more, in the raw JSON", "%(count)s more, in the raw JSON", left)
    return [Row(name="…", value=words % {"count": f"{left:,}"})] if left > 0 else []


def _text(name: str, value: str) -> Row:
    if len(value) <= SHOWN_CHARACTERS + 100:
        return Row(name=name, value=visible(value), block="\n" in value or len(value) > LINE)
    words = _("all %(count)s characters") % {"count": f"{len(value):,}"}
    return Row(name=name, value=visible(value[:SHOWN_CHARACTERS]) + "…", block=True, folded=visible(value), fold=words)


#: Place, before, after; None where there is nothing.
Change = tuple[str, str | None, str | None]


def changes(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> list[Change]:
    """What differs between two objects, so that no two that differ read alike."""
    found: list[Change] = []
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        step = json.dumps(name, ensure_ascii=False) if "." in name or not name else name
        place = f"{path}.{step}" if path else step
        if name in before and name in after and isinstance(one, dict) and isinstance(other, dict) and one and other:
            found += changes(one, other, place)
            continue
        was, now = (pretty(side[name]) if name in side else None for side in (before, after))
        if was != now:
            plain = [text(side[name]) if name in side else None for side in (before, after)]
            # A text and a number of the same signs are told apart by their quotes, and so is a text of no signs.
            clear = plain[0] != plain[1] and all(each is None or each.strip() for each in plain)
            found.append((visible(place), *(plain if clear else (was, now))))
    return found


def text(value: Any) -> str:
    return visible(value) if isinstance(value, str) else pretty(value)


def pretty(value: Any) -> str:
    """JSON to be read."""
    return visible_json(json.dumps(value, indent=2, ensure_ascii=False))
