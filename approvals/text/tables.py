"""JSON values as readable tables: nested, with long values folded and counted, and with a note at misleading letters.

Whatever a table leaves out is counted, so nothing disappears silently.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.text import confusables
from approvals.text.file_references import summarized
from approvals.text.numbers import grouped
from approvals.text.secrets import Hidden, masked
from approvals.text.text import visible, visible_json, visible_name

#: Longer texts are folded after this many characters or lines, objects and lists after this many values.
SHOWN_CHARACTERS = 4_000
SHOWN_LINES = SHOWN_VALUES = 40
#: Values nested more deeply are shown as JSON.
MAX_LEVELS = 4
#: Values in one table, in total; the rest is in the raw view.
MAX_VALUES = 500
#: Longer texts get a block of their own.
LINE = 80
#: The places of the raw JSON of a card's input and context.
RAW, RAW_CONTEXT = "raw", "raw-context"
#: Columns of a table of objects at most; one of more would need to be scrolled sideways, where no one sees all of it.
MAX_COLUMNS = 6
#: Empty values in words.
_EMPTY = {
    dict: gettext_lazy("empty object"),
    list: gettext_lazy("empty list"),
    str: gettext_lazy("empty text"),
    type(None): gettext_lazy("no value"),
}
#: Misleading letters that a note lists at most.
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table: a `value` as text, or `rows` of its own.

    `block`: the value needs more than one line. `folded`: the whole value where only its beginning is shown; `more`: the
    folded rows; both are opened with the words `fold`. `place` identifies the row among all rows of the page, `hidden` counts
    values that only the raw view shows, and `note` names what is easily misread. `empty`: the value says in words that nothing is
    there. `columns`: the rows are objects of the same few short values, so that they can stand in one table. `lines`: the cells
    of a text in CSV, the first of which are the headings. `secret`: the pointer to a value of which something is hidden.
    `shown`: the value in the words of people; a `moment` is in a `zone`.

    A page reports the places that were in view: that of a row is its value, as far as it is not folded.
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
    empty: bool = False
    columns: Sequence[str] = ()
    lines: Sequence[Sequence[str]] = ()
    secret: str = ""
    shown: str = ""
    moment: str = ""
    zone: str = ""

    @property
    def size(self) -> int:
        """How many values the object or list has."""
        return _count([*self.rows, *self.more])

    @property
    def whole_place(self) -> str:
        """The place of the whole value, where only its beginning is shown."""
        return f"{self.place}+"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a value that a person may not have seen: its place, and how much it holds."""

    place: str
    values: int = 0
    characters: int = 0
    files: int = 0


def rows(value: Any, place: str = "") -> list[Row]:
    """Return a JSON object as rows, and any other value as one row. `place` identifies this table on the page.

    Secrets are masked by their names and shapes. What a schema or a tool calls secret has to be masked before.
    """
    value = masked(value)
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


def open_places(shown: Sequence[Row]) -> Iterator[str]:
    """Yield the places that these rows show without anything being opened."""
    for row in shown:
        yield row.place
        yield from open_places(row.rows)


def secret_rows(shown: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows at whose value something is hidden."""
    for row in shown:
        if row.secret:
            yield row
        yield from secret_rows([*row.rows, *row.more])


def unseen_rows(shown: Sequence[Row], viewed: Collection[str], raw: str = RAW) -> Iterator[Part]:
    """Yield every part of these rows that is at none of the `viewed` places. `raw` is the place of what only raw JSON shows.

    A value of which nothing was seen counts as one, however much it holds; an object or list at the top by its members.
    """
    if raw in viewed:
        return
    for row in shown:
        if row.hidden:
            yield Part(raw, values=row.hidden)
        elif row.rows:
            for child in [*row.rows, *row.more]:
                whole = not child.hidden and not _any_seen(child, viewed)
                yield from [Part(child.place, values=1)] if whole else unseen_rows([child], viewed, raw)
        elif not _any_seen(row, viewed):
            yield Part(row.place, values=1)
        elif row.folded and row.whole_place not in viewed:
            yield Part(row.place, characters=len(row.folded) - len(row.value))


def _any_seen(row: Row, viewed: Collection[str]) -> bool:
    if row.rows:
        return any(_any_seen(child, viewed) for child in [*row.rows, *row.more])
    return row.place in viewed or row.whole_place in viewed


def _named_rows(items: Sequence[tuple[str, Any]], level: int, counter: Iterator[int], place: str) -> Iterator[Row]:
    """Yield the members of an object as rows, with a note at each name that looks like another."""
    others = confusables.count_confusables([name for name, _item in items])
    for number, (name, item) in enumerate(items):
        notes = [*([_alike(others[name])] if name in others else []), *_misread_name(name)]
        yield _row(visible_name(name), item, level, counter, f"{place}.{number}", notes)


def _row(name: str, value: Any, level: int, counter: Iterator[int], place: str, notes: Sequence[str] = ()) -> Row:
    notes = [*notes, *(misread(value) if isinstance(value, str) else ())]
    secret = value.pointer if isinstance(value, Hidden) else ""
    shown = _shown(value, level, counter, place)
    return replace(shown, name=name, place=place, note="; ".join(notes), secret=secret)


def _shown(value: Any, level: int, counter: Iterator[int], place: str) -> Row:
    """Return a value as a row without a name."""
    left = next(counter, None) is not None
    match value:
        case dict() | list() if value and not (left and level < MAX_LEVELS):
            return replace(_text(pretty(value)), block=True)
        case dict() if value:
            items = list(value.items())[:MAX_VALUES]
            return _table(list(_named_rows(items, level + 1, counter, place)), len(value))
        case list() if value and all(isinstance(item, bool | int | float | None) for item in value) and len(value) < 30:
            return Row(name="", value=", ".join(map(pretty, value)))
        case list() if value:
            numbered = enumerate(value[:MAX_VALUES], 1)
            listed = [_row(str(n), item, level + 1, counter, f"{place}.{n}") for n, item in numbered]
            return replace(_table(listed, len(value)), columns=_columns(value, listed))
        case dict() | list() | "" | None:
            return Row(name="", value=str(_EMPTY[type(value)]), empty=True)
        case str() if value.isspace():
            return Row(name="", value=_spaces(value), empty=True)
        case str():
            return _text(value)
        case _:
            return Row(name="", value=pretty(value))


def _columns(items: Sequence[Any], shown: Sequence[Row]) -> Sequence[str]:
    """Return the names of the columns if the objects of a list are alike, short and flat; else nothing."""
    names = list(items[0]) if isinstance(items[0], dict) else []
    alike = len(items) > 1 and all(isinstance(item, dict) and list(item) == names for item in items)
    if not alike or not 0 < len(names) <= MAX_COLUMNS:
        return ()
    cells = [cell for row in shown for cell in row.rows]
    # A note or a long value needs the room of a row of its own.
    short = all(not (cell.rows or cell.block or cell.note or cell.hidden or cell.secret) for cell in cells)
    return [cell.name for cell in shown[0].rows] if short and all(row.rows for row in shown) else ()


def _spaces(text: str) -> str:
    """Return in words how many characters a text has of which nothing can be seen."""
    return ngettext("%(count)s blank character", "%(count)s blank characters", len(text)) % {
        "count": grouped(len(text))
    }


def _table(table_rows: list[Row], count: int) -> Row:
    table_rows = [*table_rows, *_left_out(count)]
    more = table_rows[SHOWN_VALUES:] if len(table_rows) > SHOWN_VALUES + 2 else ()
    left = _count(more)
    fold = ngettext("%(count)s more value", "%(count)s more values", left) % {"count": grouped(left)}
    return Row(name="", rows=table_rows[: len(table_rows) - len(more)], more=more, fold=fold if more else "")


def _count(table_rows: Sequence[Row]) -> int:
    return sum(row.hidden or 1 for row in table_rows)


def _left_out(count: int) -> list[Row]:
    """Return the last row of a table that does not show everything: how many values are left."""
    left = count - MAX_VALUES
    label = ngettext("%(count)s more, in the raw JSON", "%(count)s more, in the raw JSON", left)
    return [Row(name="…", value=label % {"count": grouped(left)}, hidden=left)] if left > 0 else []


def _text(value: str) -> Row:
    """Return a text as a row; of a long one only the beginning is shown, unless little more than that is left."""
    text = summarized(value)
    whole = visible(text)
    beginning = "\n".join(whole[:SHOWN_CHARACTERS].split("\n", SHOWN_LINES)[:SHOWN_LINES])
    if len(whole) - len(beginning) <= SHOWN_CHARACTERS // 10 and whole.count("\n") < SHOWN_LINES * 1.1:
        return Row(name="", value=whole, block="\n" in whole or len(whole) > LINE, lines=_csv_lines(whole))
    fold = _("all %(count)s characters") % {"count": grouped(len(text))}
    return Row(name="", value=f"{beginning}…", block=True, folded=whole, fold=fold)


def _csv_lines(text: str) -> Sequence[Sequence[str]]:
    """Return the cells of a text in CSV; nothing for other texts, and where quotes or spaces would be lost in a table."""
    separator = next((mark for mark in "\t;," if mark in text.partition("\n")[0]), "")
    lines = text.removesuffix("\n").split("\n")
    # A program ends a row at a lone carriage return, too.
    if len(lines) < 3 or not separator or '"' in text or "\r" in text:
        return ()
    cells = [line.split(separator) for line in lines]
    width = len(cells[0])
    short = all(len(cell) <= LINE and cell == cell.strip() for line in cells for cell in line)
    return cells if short and width <= MAX_COLUMNS and all(len(line) == width for line in cells) else ()


def misread(text: str) -> list[str]:
    """Return notes on what is easily misread in `text`."""
    letters = confusables.foreign_letters(text)
    if not letters:
        return []
    listed = ", ".join(map(confusables.describe_letter, letters[:NAMED])) + (" …" if len(letters) > NAMED else "")
    return [_("mixes alphabets: %(letters)s") % {"letters": listed}]


def _misread_name(name: str) -> list[str]:
    if notes := misread(name):
        return notes
    taken_for = confusables.plain_confusable(name)
    return [_("looks like “%(name)s” but is a different name") % {"name": taken_for}] if taken_for else []


def _alike(others: int) -> str:
    note = ngettext("looks like %(count)s other name here", "looks like %(count)s other names here", others)
    return note % {"count": grouped(others)}


def pretty(value: Any) -> str:
    """Return indented JSON with secrets masked and invisible characters escaped."""
    return visible_json(json.dumps(masked(value), indent=2, ensure_ascii=False))
