"""JSON values as readable tables: nested, with long values folded and counted, and notes on misleading letters.

Everything that a table leaves out is counted, so nothing disappears silently.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.text import grids, names
from approvals.text.alignment import ABSENT
from approvals.text.file_references import summarized
from approvals.text.numbers import grouped
from approvals.text.secrets import Hidden, masked
from approvals.text.text import visible, visible_json, visible_name

#: Longer texts are folded after this many characters or lines, objects and lists after this many values.
SHOWN_CHARACTERS = 4_000
SHOWN_LINES = SHOWN_VALUES = 40
#: Values nested more deeply are shown as JSON.
MAX_LEVELS = 4
#: Maximum number of values in a table; the rest is in the raw view.
MAX_VALUES = 500
#: Longer texts get a block of their own.
LINE = 80
#: Places of the raw JSON of a card's input and context.
RAW = "raw"
RAW_CONTEXT = "raw-context"
#: Wider tables scroll sideways in a frame of their own.
NARROW = 6
#: Maximum cells of all tables on a page; the rest is in the raw view.
MAX_CELLS = grids.MAX_ROWS * grids.MAX_COLUMNS
#: Words for empty values.
_EMPTY = {
    dict: gettext_lazy("empty object"),
    list: gettext_lazy("empty list"),
    str: gettext_lazy("empty text"),
    type(None): gettext_lazy("no value"),
}
#: Maximum number of misleading letters in a note.
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row of a table: a `value` as text, or nested `rows`.

    `block`: the value needs more than one line. `folded`: the whole value if only its beginning is shown; `more`: the folded
    rows; both are opened with the words `fold`. `place` identifies the row on the page, `hidden` counts values that only the raw
    view shows, and `note` names what is easily misread. `empty`: the value says in words that nothing is there. `columns`: the
    headings of a table, whose rows have `cells` and are in view as a whole. `secret`: the pointer to a partly hidden value.
    `shown`: the value in words for people; a `moment` is in a `zone`, and an amount is shown in a `currency`, whose own place is
    `beside` where that is in view with the amount.

    A page reports the places that were in view; a row's place covers the unfolded part of its value.
    """

    name: str
    value: str = ""
    block: bool = False
    folded: str = ""
    rows: Sequence[TableRow] = ()
    more: Sequence[TableRow] = ()
    fold: str = ""
    place: str = field(default="", compare=False)
    hidden: int = 0
    note: str = ""
    empty: bool = False
    columns: Sequence[str] = ()
    cells: Sequence[TableRow] = ()
    secret: str = ""
    shown: str = ""
    moment: str = ""
    zone: str = ""
    currency: str = ""
    beside: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """The number of values in the object or list."""
        return _count([*self.rows, *self.more])

    @property
    def is_wide(self) -> bool:
        return len(self.columns) > NARROW

    @property
    def whole_place(self) -> str:
        """The place of the whole value, if only its beginning is shown."""
        return f"{self.place}+"


@dataclass(slots=True)
class _Room:
    """How many values and cells of tables the page still has room for."""

    values: int = MAX_VALUES
    cells: int = MAX_CELLS


@dataclass(frozen=True, slots=True)
class HeldPart:
    """A part of a value that a person may not have seen: its place, and its size."""

    place: str
    values: int = 0
    characters: int = 0
    files: int = 0


def rows(value: Any, place: str = "") -> list[TableRow]:
    """Return a JSON object as rows, and any other value as one row. `place` identifies this table on the page.

    Secrets are masked by name and format. Parts marked secret by a schema or tool must be masked before.
    """
    value = masked(value)
    room = _Room()
    if not isinstance(value, dict):
        return [_row("", value, 1, room, f"{place}.0")]
    items = list(value.items())
    left_out = _left_out(len(items) - MAX_VALUES)
    return [*_named_rows(items[:MAX_VALUES], 1, room, place), *left_out]


def context_rows(context: Any) -> list[TableRow]:
    """Return the rows of a request's context; empty if it has none."""
    if not context:
        return []
    return rows(
        context if isinstance(context, dict) else {"context": context}, "context"
    )


def leave_out(shown: Sequence[TableRow]) -> bool:
    """Return whether these rows leave out a part of their value."""
    return any(row.hidden or leave_out([*row.rows, *row.more]) for row in shown)


def open_places(shown: Sequence[TableRow]) -> Iterator[str]:
    """Yield the places that are visible in these rows before anything is opened."""
    for row in shown:
        yield row.place
        yield from open_places(row.rows)


def secret_rows(shown: Sequence[TableRow]) -> Iterator[TableRow]:
    """Yield the rows with partly hidden values."""
    for row in shown:
        if row.secret:
            yield row
        yield from secret_rows([*row.rows, *row.more])


def unseen_rows(
    shown: Sequence[TableRow], viewed: Collection[str], raw: str = RAW
) -> Iterator[HeldPart]:
    """Yield each part of these rows at none of the `viewed` places. `raw` is the place of parts that only the raw JSON shows.

    An entirely unseen value counts as one part, whatever its size; a top-level object or list counts by its members.
    """
    if raw in viewed:
        return
    for row in shown:
        if row.hidden:
            yield HeldPart(raw, values=row.hidden)
        elif row.rows:
            for child in [*row.rows, *row.more]:
                whole = not child.hidden and not _any_seen(child, viewed)
                yield from (
                    [HeldPart(child.place, values=1)]
                    if whole
                    else unseen_rows([child], viewed, raw)
                )
        elif not _any_seen(row, viewed):
            yield HeldPart(row.place, values=1)
        elif row.folded and row.whole_place not in viewed:
            yield HeldPart(row.place, characters=len(row.folded) - len(row.value))


def _any_seen(row: TableRow, viewed: Collection[str]) -> bool:
    if row.rows:
        return any(_any_seen(child, viewed) for child in [*row.rows, *row.more])
    return row.place in viewed or row.whole_place in viewed


def _named_rows(
    items: Sequence[tuple[str, Any]], level: int, room: _Room, place: str
) -> Iterator[TableRow]:
    """Yield the members of an object as rows, with a note at each name that looks like another."""
    others = names.count_confusables([name for name, _item in items])
    for number, (name, item) in enumerate(items):
        notes = [
            *([_alike(others[name])] if name in others else []),
            *_misread_name(name),
        ]
        yield _row(visible_name(name), item, level, room, f"{place}.{number}", notes)


def _row(
    name: str,
    value: Any,
    level: int,
    room: _Room,
    place: str,
    notes: Sequence[str] = (),
) -> TableRow:
    notes = [*notes, *(misread(value) if isinstance(value, str) else ())]
    secret = value.pointer if isinstance(value, Hidden) else ""
    shown = _shown(value, level, room, place)
    return replace(shown, name=name, place=place, note="; ".join(notes), secret=secret)


def _shown(value: Any, level: int, room: _Room, place: str) -> TableRow:
    """Return a value as a row without a name."""
    room.values -= 1
    if isinstance(value, str) and "\n" in value and (lines := grids.csv_lines(value)):
        return _grid(lines[0], lines[1:], room, place)
    if not (value and isinstance(value, dict | list)) or grids.are_numbers(value):
        return _leaf(value)
    if room.values < 0 or level >= MAX_LEVELS:
        return replace(_text(pretty(value)), block=True)
    if isinstance(value, dict):
        items = list(value.items())[:MAX_VALUES]
        members = list(_named_rows(items, level + 1, room, place))
        return _table([*members, *_left_out(len(value) - MAX_VALUES)])
    columns = grids.columns_of(value)
    # A note at the name of a column, and more columns than a table has, need rows.
    if (
        columns
        and (len(columns) <= grids.MAX_COLUMNS or len(value) > SHOWN_VALUES)
        and not any(map(_misread_name, columns))
        and not names.count_confusables(columns)
    ):
        lines = [[item.get(name, ABSENT) for name in columns] for item in value]
        return _grid(columns, lines, room, place, _cell)
    listed = [
        _row(str(n), item, level + 1, room, f"{place}.{n}")
        for n, item in enumerate(value[:MAX_VALUES], 1)
    ]
    return _table([*listed, *_left_out(len(value) - MAX_VALUES)])


def _leaf(value: Any) -> TableRow:
    """Return a value that has no rows."""
    match value:
        case list() if value:
            return TableRow(name="", value=", ".join(map(json.dumps, value)))
        case dict() | list() | "" | None:
            return TableRow(name="", value=str(_EMPTY[type(value)]), empty=True)
        case str() if value.isspace():
            return TableRow(name="", value=_spaces(value), empty=True)
        case str():
            return _text(value)
        case _:
            return TableRow(name="", value=json.dumps(value))


def _text_cell(name: str, text: str) -> TableRow:
    return TableRow(name=name, value=visible(text))


def _cell(name: str, value: Any) -> TableRow:
    if value is ABSENT:
        return TableRow(name=name, value=_("none"), empty=True)
    notes = misread(value) if isinstance(value, str) else ()
    return replace(_leaf(value), name=name, note="; ".join(notes))


def _grid(
    columns: Sequence[str],
    lines: Sequence[Sequence[Any]],
    room: _Room,
    place: str,
    cell: Callable[[str, Any], TableRow] = _text_cell,
) -> TableRow:
    """Return rows of cells as one table, as far as there is room for them."""
    shown = list(map(visible_name, columns[: grids.MAX_COLUMNS]))
    count = min(len(lines), grids.MAX_ROWS, room.cells // len(shown))
    room.cells -= count * len(shown)
    numbered = [
        TableRow(
            name=str(number),
            place=f"{place}.{number}",
            cells=list(map(cell, shown, line)),
        )
        for number, line in enumerate(lines[:count], 1)
    ]
    table = _table([*numbered, *_left_out(len(lines) - count)])
    if len(shown) == len(columns):
        return replace(table, columns=shown)
    left = len(columns) - len(shown)
    label = ngettext(
        "%(count)s more column, in the raw JSON",
        "%(count)s more columns, in the raw JSON",
        left,
    )
    hidden = TableRow(
        name="…", value=label % {"count": grouped(left)}, hidden=left * len(lines)
    )
    return replace(table, columns=shown, rows=[hidden, *table.rows])


def _spaces(text: str) -> str:
    """Describe a blank text by its number of characters."""
    return ngettext(
        "%(count)s blank character", "%(count)s blank characters", len(text)
    ) % {"count": grouped(len(text))}


def _table(table_rows: Sequence[TableRow]) -> TableRow:
    more = table_rows[SHOWN_VALUES:] if len(table_rows) > SHOWN_VALUES + 2 else ()
    left = _count(more)
    fold = ngettext("%(count)s more value", "%(count)s more values", left) % {
        "count": grouped(left)
    }
    return TableRow(
        name="",
        rows=table_rows[: len(table_rows) - len(more)],
        more=more,
        fold=fold if more else "",
    )


def _count(table_rows: Sequence[TableRow]) -> int:
    return sum(row.hidden or 1 for row in table_rows)


def _left_out(left: int) -> list[TableRow]:
    """Return the last row of an incomplete table: the number of omitted values."""
    label = ngettext(
        "%(count)s more, in the raw JSON", "%(count)s more, in the raw JSON", left
    )
    return (
        [TableRow(name="…", value=label % {"count": grouped(left)}, hidden=left)]
        if left > 0
        else []
    )


def _text(value: str) -> TableRow:
    """Return a text as a row; of a long one only the beginning is shown, unless little more is left."""
    text = summarized(value)
    whole = visible(text)
    beginning = "\n".join(
        whole[:SHOWN_CHARACTERS].split("\n", SHOWN_LINES)[:SHOWN_LINES]
    )
    if (
        len(whole) - len(beginning) <= SHOWN_CHARACTERS // 10
        and whole.count("\n") < SHOWN_LINES * 1.1
    ):
        return TableRow(
            name="",
            value=whole,
            block="\n" in whole or len(whole) > LINE,
        )
    fold = _("all %(count)s characters") % {"count": grouped(len(text))}
    return TableRow(name="", value=f"{beginning}…", block=True, folded=whole, fold=fold)


def misread(text: str) -> list[str]:
    """Return notes on easily misread parts of `text`."""
    letters = names.foreign_letters(text)
    if not letters:
        return []
    listed = ", ".join(map(names.describe_letter, letters[:NAMED])) + (
        " …" if len(letters) > NAMED else ""
    )
    return [_("mixes alphabets: %(letters)s") % {"letters": listed}]


def _misread_name(name: str) -> list[str]:
    if notes := misread(name):
        return notes
    taken_for = names.plain_confusable(name)
    return (
        [_("looks like “%(name)s” but is a different name") % {"name": taken_for}]
        if taken_for
        else []
    )


def _alike(others: int) -> str:
    note = ngettext(
        "looks like %(count)s other name here",
        "looks like %(count)s other names here",
        others,
    )
    return note % {"count": grouped(others)}


def pretty(value: Any) -> str:
    """Return indented JSON with secrets masked and invisible characters escaped."""
    return visible_json(json.dumps(masked(value), indent=2, ensure_ascii=False))
