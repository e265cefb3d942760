"""The places of values in requests that are compared: each value has one, by which a page reports that it was in view."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.forms.formatted import formatted_member
from approvals.text.alignment import align_values
from approvals.text.differences import place_of
from approvals.text.numbers import grouped
from approvals.text.secrets import comparable
from approvals.text.tables import LINE, MAX_VALUES, TableRow, pretty, rows

#: Prefixes of places in an input and in a context.
INPUT = "input"
CONTEXT = "context"
Leaves = Mapping[str, Any]


def name_of(text: str) -> str:
    """Return the part of an id that stands for a name: long enough that no agent can find two names with the same one."""
    digest = hashlib.blake2s(text.encode(), digest_size=16).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


class _LeftOut(str):
    """The number of values of an object that are not shown individually: `left`."""

    left: int


@dataclass(frozen=True, slots=True)
class ComparedPlace:
    """The values of all requests at one place: their cells, and the values as text for comparison.

    `currencies` are those that stand with these amounts.
    """

    cells: Sequence[TableRow | None]
    written: Sequence[str | None]
    currencies: ComparedPlace | None = None

    @property
    def differs(self) -> bool:
        # The currency beside an amount may differ, too.
        looks = {cell.shown for cell in self.cells if cell is not None}
        return len(set(self.written)) > 1 or len(looks) > 1

    @property
    def is_short(self) -> bool:
        """Whether all values fit in a column."""
        return not any(map(_is_long, filter(None, self.cells)))

    @property
    def usual(self) -> str | None:
        """The value shared by more than half of the requests; "", which is no JSON, if there is none."""
        value, count = Counter(self.written).most_common(1)[0]
        return value if count * 2 > len(self.written) else ""

    def is_unusual(self, number: int) -> bool:
        """Return whether the value of this request, or its currency, differs from that of most."""
        if self.currencies is not None and self.currencies.is_unusual(number):
            return True
        return self.usual not in ("", self.written[number])


def _is_long(cell: TableRow) -> bool:
    parts = bool(cell.rows or cell.hidden or cell.folded)
    return parts or len(cell.value) > LINE or "\n" in cell.value


def aligned(
    values: Sequence[Leaves],
    part: str,
    currencies: Sequence[Mapping[str, str]] | None = None,
) -> dict[str, ComparedPlace]:
    """Return the values of several objects by place; `currencies` are those of their schemas."""
    aligned = {}
    units = currencies or [{}] * len(values)
    for place in dict.fromkeys(place for leaves in values for place in leaves):
        # Compare as JSON text: to Python, 1 and true are equal.
        written = [_written(leaves, place) for leaves in values]
        cells = [
            _cell(place, leaves, part, unit.get(place, ""))
            for leaves, unit in zip(values, units, strict=True)
        ]
        distinct = _distinct(place, values, cells, written)
        aligned[place] = ComparedPlace(distinct, written)
    return aligned


def without_currencies(
    values: Mapping[str, ComparedPlace],
) -> dict[str, ComparedPlace]:
    """Return the values without the currencies that stand with the amounts of all requests."""
    left = dict(values)
    for place, currencies in values.items():
        at = f"{place.removesuffix('currency')}amount"
        if place.rpartition(".")[2] != "currency" or at not in values:
            continue
        amounts = values[at].cells
        pairs = list(zip(amounts, currencies.cells, strict=True))
        if all(
            currency is None or _shows(amount, currency) for amount, currency in pairs
        ):
            cells = [
                replace(amount, beside=currency.place)
                if amount and currency
                else amount
                for amount, currency in pairs
            ]
            left[at] = replace(values[at], cells=cells, currencies=currencies)
            del left[place]
    return left


def _shows(amount: TableRow | None, currency: TableRow) -> bool:
    """Return whether an amount is shown in this currency."""
    return bool(amount and amount.shown and amount.currency == currency.value)


def cells_of(number: int, places: Iterable[ComparedPlace]) -> list[TableRow]:
    """Return a request's cells at these places."""
    return [cell for place in places if (cell := place.cells[number]) is not None]


def by_place(value: Mapping[str, Any]) -> Leaves:
    """Return every value under its place. Places that look the same are numbered, so that no value hides another."""
    values: dict[str, Any] = {}
    for place, item in _leaves(value):
        name = place
        number = 1
        while name in values:
            number += 1
            name = f"{place} ({number})"
        values[name] = item
    return values


def _leaves(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every value of an object with its path; lists count as values. Beyond MAX_VALUES, yield only the number left."""
    leaves = [(place_of(path), leaf) for path, leaf, _ in align_values(value, value)]
    yield from leaves[:MAX_VALUES]
    if (left := len(leaves) - MAX_VALUES) > 0:
        message = ngettext(
            "%(count)s more, on its own page", "%(count)s more, on its own page", left
        )
        left_out = _LeftOut(message % {"count": grouped(left)})
        left_out.left = left
        yield "…", left_out


def row(place: str, leaf: Any, part: str) -> TableRow:
    """Return a value as a row, at a place that is the same on every page."""
    if isinstance(leaf, _LeftOut):
        return TableRow(name=place, value=str(leaf), hidden=leaf.left)
    [row] = rows({place: leaf}, f"{part}.{name_of(place)}")
    return row


def _written(leaves: Leaves, place: str) -> str | None:
    return json.dumps(comparable(leaves[place])) if place in leaves else None


def _cell(place: str, leaves: Leaves, part: str, currency: str) -> TableRow | None:
    if place not in leaves:
        return None
    value = leaves[place]
    beside = leaves.get(f"{place.removesuffix('amount')}currency")
    return formatted_member(row(place, value, part), value, beside, currency)


def _distinct(
    place: str,
    values: Sequence[Leaves],
    cells: Sequence[TableRow | None],
    written: Sequence[str | None],
) -> Sequence[TableRow | None]:
    """Return the cells at one place, displayed so that different values look different."""
    exact = [cell and replace(cell, shown="") for cell in cells]
    # Texts with the same beginning are shown in full; those that look like another value, as JSON.
    for tried in (cells, exact, [_whole(cell) for cell in exact]):
        if _tell_apart(tried, written):
            return tried
    if any(cell and cell.secret for cell in cells):
        return _numbered(exact, written)
    return [
        cell
        if cell is None or _look(cell) is None or cell.hidden
        else TableRow(
            name=place,
            value=pretty(leaves[place]),
            block=True,
            note=cell.note,
            place=cell.whole_place,
        )
        for leaves, cell in zip(values, exact, strict=True)
    ]


def _tell_apart(
    cells: Sequence[TableRow | None], written: Sequence[str | None]
) -> bool:
    """Return whether cells that look the same have the same value."""
    looks: dict[str, str | None] = {}
    return all(
        (look := _look(cell)) is None or looks.setdefault(look, value) == value
        for cell, value in zip(cells, written, strict=True)
    )


def _look(cell: TableRow | None) -> str | None:
    """Return what people see of a cell, a table as a whole; None for one that is not compared."""
    if cell is None or (cell.rows and not cell.columns):
        return None
    return repr(cell) if cell.columns else cell.shown or cell.value


def _numbered(
    cells: Sequence[TableRow | None], written: Sequence[str | None]
) -> list[TableRow | None]:
    """Return cells with numbers in place of hidden values, the same for equal ones."""
    numbers = {each: number for number, each in enumerate(dict.fromkeys(written), 1)}
    words = _("%(value)s, value %(number)s")
    return [
        replace(cell, value=words % {"value": cell.value, "number": numbers[each]})
        if cell and cell.secret
        else cell
        for each, cell in zip(written, cells, strict=True)
    ]


def _whole(cell: TableRow | None) -> TableRow | None:
    """Return a folded text in full."""
    if cell is None or not cell.folded:
        return cell
    return replace(cell, value=cell.folded, folded="", place=cell.whole_place)
