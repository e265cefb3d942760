"""JSON values as readable tables: nested, with long values folded and counted, and with a note at misleading letters.

Whatever a table leaves out is counted, so nothing disappears silently.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.runtime import lookalikes
from approvals.runtime.text import visible, visible_json, visible_name

#: Longer texts are folded after this many characters, objects and lists after this many values.
SHOWN_CHARACTERS = 400
SHOWN_VALUES = 20
#: Values nested more deeply are shown as JSON.
MAX_LEVELS = 4
#: Values in one table, in total; the rest is in the raw view.
MAX_VALUES = 500
#: Longer texts get a block of their own.
LINE = 80
#: The places of the raw JSON of a card's input and context.
RAW, RAW_CONTEXT = "raw", "raw-context"
#: Misleading letters that a note lists at most.
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table: a `value` as text, or `rows` of its own.

    `block`: the value needs more than one line. `folded`: the whole value where only its beginning is shown; `more`: the
    folded rows; both are opened with the words `fold`. `place` identifies the row among all rows of the page, `hidden` counts
    values that only the raw view shows, and `note` names what is easily misread.
    """

    name: str
    value: str = ""
    block: bool = False
    folded: str = ""
    rows: Sequence[Row] = ()
    more: Sequence[Row] = ()
    fold: str = ""
    place: str = field(default="", compare=False)
    hidden: int = 0
    note: str = ""

    @property
    def size(self) -> int:
        """How many rows it has of its own."""
        return len(self.rows) + len(self.more)


@dataclass(frozen=True, slots=True)
class Fold:
    """A folded part: its place, and how much it holds."""

    place: str
    values: int = 0
    characters: int = 0


def rows(value: Any, place: str = "") -> list[Row]:
    """Return a JSON object as rows, and any other value as one row. `place` identifies this table on the page."""
    counter = iter(range(MAX_VALUES))
    if not isinstance(value, dict):
        return [_row("", value, 1, counter, f"{place}.0")]
    items = list(value.items())
    return [*_named_rows(items[:MAX_VALUES], 1, counter, place), *_left_out(len(items))]


def context_rows(context: Any) -> list[Row]:
    """Return the rows of a request's context; none where it has none."""
    return rows(context if isinstance(context, dict) else {"context": context}, "context") if context else []


def has_more_than_rows(value: Any) -> bool:
    """Return whether an object or list in `value` has more members than a table shows."""
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict | list):
            if len(held) > MAX_VALUES:
                return True
            waiting += held.values() if isinstance(held, dict) else held
    return False


def folds(found: Sequence[Row], raw: str = RAW) -> Iterator[Fold]:
    """Yield every folded part of these rows, nested ones too. `raw` is the place of values that only raw JSON shows."""
    for row in found:
        if row.folded:
            yield Fold(row.place, characters=len(row.folded) - SHOWN_CHARACTERS)
        if row.more:
            yield Fold(row.place, values=len(row.more))
        if row.hidden:
            yield Fold(raw, values=row.hidden)
        yield from folds(row.rows, raw)
        yield from folds(row.more, raw)


def branches(found: Sequence[Row], places: Collection[str]) -> Iterator[Fold]:
    """Yield the branches at these places, each with how many values it holds; one within another counts once."""
    for row in found:
        if row.place in places and row.rows:
            yield Fold(row.place, values=row.size)
        else:
            yield from branches([*row.rows, *row.more], places)


def _named_rows(items: Sequence[tuple[str, Any]], level: int, counter: Iterator[int], place: str) -> Iterator[Row]:
    """Yield the members of an object as rows, with a note at each name that looks like another."""
    others = lookalikes.count_lookalikes([name for name, _item in items])
    for number, (name, item) in enumerate(items):
        notes = [*([_alike(others[name])] if name in others else []), *_misread_name(name)]
        yield _row(visible_name(name), item, level, counter, f"{place}.{number}", notes)


def _row(name: str, value: Any, level: int, counter: Iterator[int], place: str, notes: Sequence[str] = ()) -> Row:
    notes = [*notes, *(misread(value) if isinstance(value, str) else ())]
    return replace(_shown(value, level, counter, place), name=name, place=place, note="; ".join(notes))


def _shown(value: Any, level: int, counter: Iterator[int], place: str) -> Row:
    """Return a value as a row without a name."""
    left = next(counter, None) is not None
    match value:
        case dict() | list() if value and not (left and level < MAX_LEVELS):
            return Row(name="", value=pretty(value), block=True)
        case dict() if value:
            items = list(value.items())[:MAX_VALUES]
            return _table(list(_named_rows(items, level + 1, counter, place)), len(value))
        case list() if value and all(isinstance(one, bool | int | float | None) for one in value) and len(value) < 30:
            return Row(name="", value=", ".join(map(pretty, value)))
        case list() if value:
            numbered = enumerate(value[:MAX_VALUES], 1)
            return _table([_row(str(n), item, level + 1, counter, f"{place}.{n}") for n, item in numbered], len(value))
        case str():
            return _text(value)
        case _:
            return Row(name="", value=pretty(value))


def _table(found: list[Row], count: int) -> Row:
    found = [*found, *_left_out(count)]
    more = found[SHOWN_VALUES:] if len(found) > SHOWN_VALUES + 2 else ()
    words = ngettext("%(count)s more value", "%(count)s more values", len(more)) % {"count": f"{len(more):,}"}
    return Row(name="", rows=found[: len(found) - len(more)], more=more, fold=words if more else "")


def _left_out(count: int) -> list[Row]:
    """Return the last row of a table that does not show everything: how many values are left."""
    left = count - MAX_VALUES
    words = ngettext("%(count)s more, in the raw JSON", "%(count)s more, in the raw JSON", left)
    return [Row(name="…", value=words % {"count": f"{left:,}"}, hidden=left)] if left > 0 else []


def _text(value: str) -> Row:
    if len(value) <= SHOWN_CHARACTERS + 100:
        return Row(name="", value=visible(value), block="\n" in value or len(value) > LINE)
    words = _("all %(count)s characters") % {"count": f"{len(value):,}"}
    beginning = visible(value[:SHOWN_CHARACTERS]) + "…"
    return Row(name="", value=beginning, block=True, folded=visible(value), fold=words)


def misread(text: str) -> list[str]:
    """Return notes on what is easily misread in `text`."""
    found = lookalikes.foreign_letters(text)
    if not found:
        return []
    listed = ", ".join(map(lookalikes.describe_letter, found[:NAMED])) + (" …" if len(found) > NAMED else "")
    return [_("mixes alphabets: %(letters)s") % {"letters": listed}]


def _misread_name(name: str) -> list[str]:
    if found := misread(name):
        return found
    taken_for = lookalikes.plain_lookalike(name)
    return [_("looks like “%(name)s” but is a different name") % {"name": taken_for}] if taken_for else []


def _alike(others: int) -> str:
    words = ngettext("looks like %(count)s other name here", "looks like %(count)s other names here", others)
    return words % {"count": f"{others:,}"}


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
            plain = [text(side[name]) if name in side else None for side in (before, after)]
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


def text(value: Any) -> str:
    """Return a string as it is, and any other value as JSON, with invisible characters made visible."""
    return visible(value) if isinstance(value, str) else pretty(value)


def pretty(value: Any) -> str:
    """Return indented JSON with invisible characters escaped."""
    return visible_json(json.dumps(value, indent=2, ensure_ascii=False))
