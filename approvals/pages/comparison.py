"""The inputs of several requests side by side: what is the same in all, what differs, and the sums of their numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.asking.secrets import masked_input
from approvals.forms.shown_files import ShownFile, shown_files
from approvals.models import ApprovalRequest
from approvals.text.alignment import align_values
from approvals.text.differences import place_of
from approvals.text.numbers import grouped
from approvals.text.secrets import true_value
from approvals.text.tables import MAX_VALUES, Part, Row, open_places, pretty, rows, unseen_rows

#: How many differing values have their own column; the rest share one more.
MAX_COLUMNS = 8
#: Digits of precision, enough for the exact sum of all amounts that `_amount` matches.
MAX_DIGITS = 100
#: Money as text, which is how clients should send it.
_amount = re.compile(r"-?\d{1,30}\.\d{1,30}")


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the numbers at one path of the inputs; `count` is how many there are, from `least` to `most`."""

    name: str
    total: str
    count: int
    least: str = ""
    most: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One request: a cell for each column (None if it has no such value), and its other differences.

    `unusual` are the numbers of the cells whose value differs from that of most requests, `votes` says how far its votes are.
    """

    request: ApprovalRequest
    cells: Sequence[Row | None]
    more: Sequence[Row]
    unusual: frozenset[int] = frozenset()
    votes: str = ""

    @property
    def shown(self) -> list[Row]:
        """The values in which this request differs from the others."""
        return [cell for cell in [*self.cells, *self.more] if cell is not None]

    @property
    def files(self) -> list[ShownFile]:
        """The files of the request."""
        return shown_files(self.request)

    @property
    def marked(self) -> list[tuple[Row | None, bool]]:
        """Each cell, and whether its value is unusual."""
        return [(cell, number in self.unusual) for number, cell in enumerate(self.cells)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The requests of one tool: the context of `approvals/bulk/_tool.html`."""

    tool: str
    lines: Sequence[Line]
    columns: Sequence[str]
    same: Sequence[Row]
    sums: Sequence[Sum]

    @property
    def more(self) -> bool:
        """Whether there are more differing values than columns."""
        return any(line.more for line in self.lines)

    def folded(self) -> Iterator[Part]:
        """Yield the folded parts of these inputs."""
        for cells in (self.same, *(line.shown for line in self.lines)):
            yield from folded_rows(cells)


def folded_rows(cells: Sequence[Row]) -> Iterator[Part]:
    """Yield the folded parts of these values."""
    return unseen_rows(cells, {*open_places(cells)})


def compare_inputs(
    tool: str,
    requests: Sequence[ApprovalRequest],
    key_fields: Sequence[str] = (),
    votes: Mapping[UUID, str] | None = None,
) -> Comparison:
    """Compare the inputs of one tool. `key_fields`, JSON pointers, are the first columns, also where all are the same.

    `votes` says of each request how far its votes are, by id.
    """
    inputs = [_by_place(masked_input(request, request.input)) for request in requests]
    places = list(dict.fromkeys(place for leaves in inputs for place in leaves))
    # Compare as JSON text: to Python, 1 and true are equal.
    written = {place: [_written(leaves, place) for leaves in inputs] for place in places}
    keys = [place for place in map(_place_of, key_fields) if place in written]
    differing = [*keys, *(place for place in places if len(set(written[place])) > 1 and place not in keys)]
    columns = differing[: max(MAX_COLUMNS, len(keys))]
    usual = {place: _usual(written[place]) for place in columns}
    shown = {place: _cells(place, inputs, written[place]) for place in differing}
    lines = [
        Line(
            request,
            [shown[place][number] for place in columns],
            [cell for place in differing[len(columns) :] if (cell := shown[place][number]) is not None],
            frozenset(at for at, place in enumerate(columns) if usual[place] not in ((), (written[place][number],))),
            (votes or {}).get(request.pk, ""),
        )
        for number, request in enumerate(requests)
    ]
    same = [cell for place in places if place not in shown if (cell := _cells(place, inputs, written[place])[0])]
    return Comparison(tool=tool, lines=lines, columns=columns, same=same, sums=_sums(places, inputs))


def _place_of(pointer: str) -> str:
    """Return the place of the value at a JSON pointer."""
    return place_of(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _usual(written: Sequence[str | None]) -> tuple[str | None, ...]:
    """Return the value that more than half of the requests have; nothing if there is none."""
    value, count = Counter(written).most_common(1)[0]
    return (value,) if count * 2 > len(written) else ()


def _by_place(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return every value under its place. Places that read alike are numbered, so that no value hides another."""
    values: dict[str, Any] = {}
    for place, item in _leaves(value):
        name, number = place, 1
        while name in values:
            number += 1
            name = f"{place} ({number})"
        values[name] = item
    return values


def _leaves(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every value of an object with its path; lists count as values. Beyond MAX_VALUES, yield only how many are left."""
    leaves = [(place_of(path), leaf) for path, leaf, _ in align_values(value, value)]
    yield from leaves[:MAX_VALUES]
    if (left := len(leaves) - MAX_VALUES) > 0:
        message = ngettext("%(count)s more, on its own page", "%(count)s more, on its own page", left)
        yield "…", message % {"count": grouped(left)}


def _written(leaves: Mapping[str, Any], place: str) -> str | None:
    return json.dumps(true_value(leaves[place])) if place in leaves else None


def _cells(place: str, inputs: Sequence[Mapping[str, Any]], written: Sequence[str | None]) -> list[Row | None]:
    """Return the values at one path, shown so that values that differ also look different."""
    cells = [rows({place: leaves[place]})[0] if place in leaves else None for leaves in inputs]
    plain = [cell for cell in cells if cell is not None and not cell.rows]
    distinct = {each for each, cell in zip(written, cells, strict=True) if cell is not None and not cell.rows}
    if len({cell.value for cell in plain}) == len(distinct):
        return cells
    # Texts that begin alike are shown whole; those that read like another value, as JSON.
    if len({cell.folded or cell.value for cell in plain}) == len(distinct):
        return [replace(cell, value=cell.folded or cell.value, folded="") if cell else None for cell in cells]
    if any(cell.secret for cell in plain):
        numbers = {each: number for number, each in enumerate(dict.fromkeys(written), 1)}
        return [
            replace(cell, value=_("%(value)s, value %(number)s") % {"value": cell.value, "number": numbers[each]})
            if cell and cell.secret
            else cell
            for each, cell in zip(written, cells, strict=True)
        ]
    pairs = zip(inputs, cells, strict=True)
    return [
        Row(name=place, value=pretty(leaves[place]), block=True, note=cell.note) if cell else None
        for leaves, cell in pairs
    ]


def _sums(places: Sequence[str], inputs: Sequence[Mapping[str, Any]]) -> list[Sum]:
    sums = []
    for place in places:
        values = [_number(leaves[place]) for leaves in inputs if place in leaves]
        numbers = [value for value in values if value is not None]
        if len(numbers) == len(values) > 1:
            with localcontext(prec=MAX_DIGITS):
                least, most = grouped(min(numbers)), grouped(max(numbers))
                sums.append(Sum(place, grouped(sum(numbers)), len(numbers), least, most))
    return sums


def _number(value: Any) -> Decimal | None:
    match value:
        case bool():
            return None
        case int() | float():
            return Decimal(repr(value))
        case str() if _amount.fullmatch(value):
            return Decimal(value)
        case _:
            return None
