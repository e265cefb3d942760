"""Several requests side by side: what is the same in all, what differs, which are unlike the others, and sums of numbers.

Each value has a place of its own in its request, by which a page reports that it was in view. What is the same in all requests is
shown once, at the same place.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.asking.secrets import masked_request
from approvals.forms.shown_files import ShownFile, shown_files, unseen_files
from approvals.forms.shown_messages import ShownMessage, shown_message
from approvals.models import ApprovalRequest
from approvals.pages.outliers import Outlier, currencies_of, outliers_among
from approvals.schema.formats import currencies_in
from approvals.text.alignment import align_values
from approvals.text.differences import place_of
from approvals.text.numbers import grouped, number_in
from approvals.text.secrets import true_value
from approvals.text.tables import LINE, MAX_VALUES, RAW_CONTEXT, Part, Row, open_places, pretty, rows, unseen_rows

#: How many differing values have their own column; the rest stand below their request, as do all that are long.
MAX_COLUMNS = 8
#: Digits of precision, enough for the exact sum of all amounts in text.
MAX_DIGITS = 100
#: Which places are those of an input, and which of a context.
INPUT, CONTEXT = "input", "context"
#: Where a page shows what is the same in all requests of a tool.
SAME = "same"
Leaves = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the numbers at one path of the inputs in one `currency`; there are `count` of them, from `least` to `most`."""

    name: str
    total: str
    count: int
    least: str = ""
    most: str = ""
    currency: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One request: a cell for each column (None if it has no such value), and below these what else is not the same in all.

    `unusual` are the numbers of the cells whose value differs from that of most requests, `outliers` say why it is unlike the
    others, and `votes` how far its votes are.
    """

    request: ApprovalRequest
    cells: Sequence[Row | None]
    more: Sequence[Row]
    context: Sequence[Row] = ()
    message: ShownMessage | None = None
    unusual: frozenset[int] = frozenset()
    outliers: Sequence[Outlier] = ()
    votes: str = ""
    columns: Sequence[str] = ()
    #: Whether the decision includes it, and the places that were in view when its page was sent before.
    included: bool = True
    seen: str = ""

    @property
    def pick(self) -> str:
        """How a bulk decision names it: by the id and the digest of the input that its line shows."""
        return f"{self.request.pk}:{self.request.voted_digest}"

    @property
    def name(self) -> str:
        """The id of its line on the page."""
        return name_of_line(self.request.pk)

    @property
    def files(self) -> list[ShownFile]:
        """The files of the request."""
        return shown_files(self.request)

    @property
    def marked(self) -> list[tuple[str, Row | None, bool]]:
        """Each cell with the name of its column, and whether its value is unusual."""
        named = zip(self.columns, self.cells, strict=True)
        return [(name, cell, number in self.unusual) for number, (name, cell) in enumerate(named)]

    @property
    def shown(self) -> list[Row]:
        """All values of the line."""
        return [cell for cell in [*self.cells, *self.more, *self.context] if cell is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The requests of one tool: the context of `approvals/bulk/_tool.html`. `same` is what all of them have."""

    tool: str
    lines: Sequence[Line]
    columns: Sequence[str]
    same: Sequence[Row]
    sums: Sequence[Sum]
    same_context: Sequence[Row] = ()
    message: ShownMessage | None = None
    #: The places of what is the same that were in view when the page was sent before.
    seen: str = ""

    @property
    def name(self) -> str:
        """The id on the page of what all of them have."""
        return name_of_same(self.tool)

    def folded(self) -> Iterator[Part]:
        """Yield the folded parts of these inputs and contexts."""
        for cells in ([*self.same, *self.same_context], *(line.shown for line in self.lines)):
            yield from unseen_rows(cells, {*open_places(cells)})


def name_of_line(pk: UUID) -> str:
    """Return the id of the line of a request, by which a page reports what of it was in view."""
    return f"line-{pk}"


def name_of_same(tool: str) -> str:
    """Return the id of what all requests of a tool have, by which a page reports what of it was in view."""
    return f"{SAME}-{_named(tool)}"


def _named(text: str) -> str:
    """Return the part of an id that stands for a name: long enough that no agent can find two names with the same one."""
    digest = hashlib.blake2s(text.encode(), digest_size=16).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


class _LeftOut(str):
    """Says how many values of an object are not taken apart: so many are `left`."""

    left: int


def compare_inputs(
    tool: str,
    requests: Sequence[ApprovalRequest],
    key_fields: Sequence[str] = (),
    votes: Mapping[UUID, str] | None = None,
    schemas: Mapping[UUID, Mapping[str, Any]] | None = None,
) -> Comparison:
    """Compare the inputs, contexts and messages for one tool. What is unlike the others stands first.

    `key_fields`, JSON pointers, are the first columns, also where all are the same. `votes` says of each request how far its
    votes are, and `schemas` what its input is, by id.
    """
    requests = [masked_request(request) for request in requests]
    inputs = [_by_place(request.input) for request in requests]
    values, contexts = _aligned(inputs, INPUT), _aligned([_context_of(request) for request in requests], CONTEXT)
    keys = [place for place in map(_place_of, key_fields) if place in values]
    differing = [*keys, *(place for place in values if values[place].differs and place not in keys)]
    columns = [place for place in differing if values[place].is_short][: max(MAX_COLUMNS, len(keys))]
    units = [currencies_in((schemas or {}).get(request.pk)) for request in requests]
    currencies = currencies_of(inputs, units)
    outliers = outliers_among(inputs, currencies)
    messages = [shown_message(request) for request in requests]
    same_message = messages[0] if len(set(messages)) == 1 else None
    lines = [
        Line(
            request=request,
            cells=[values[place].cells[number] for place in columns],
            more=_cells_of(number, (values[place] for place in differing if place not in columns)),
            context=_cells_of(number, (each for each in contexts.values() if each.differs)),
            message=None if same_message else messages[number],
            unusual=_unusual(number, columns, values, outliers[number]),
            outliers=outliers[number],
            votes=(votes or {}).get(request.pk, ""),
            columns=columns,
        )
        for number, request in enumerate(requests)
    ]
    same = [place for place in values if place not in differing]
    return Comparison(
        tool=tool,
        lines=sorted(lines, key=lambda line: not line.outliers),
        columns=columns,
        same=_cells_of(0, (values[place] for place in same)),
        sums=_sums(inputs, currencies),
        same_context=_cells_of(0, (each for each in contexts.values() if not each.differs)),
        message=same_message,
    )


def unseen_parts(request: ApprovalRequest, viewed: Collection[str]) -> Iterator[Part]:
    """Yield every part of a request that was at none of the `viewed` places of the page that compares it with others."""
    request = masked_request(request)
    for place, leaf in _by_place(request.input).items():
        yield from unseen_rows([_row(place, leaf, INPUT)], viewed)
    for place, leaf in _context_of(request).items():
        yield from unseen_rows([_row(place, leaf, CONTEXT)], viewed, RAW_CONTEXT)
    message = shown_message(request)
    if message is not None:
        yield from message.unseen(viewed)
    yield from unseen_files(shown_files(request), viewed)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the requests have at one place: their cells, and the values as text to compare them."""

    cells: Sequence[Row | None]
    written: Sequence[str | None]

    @property
    def differs(self) -> bool:
        return len(set(self.written)) > 1

    @property
    def is_short(self) -> bool:
        """Whether all values can stand in a column."""
        return all(
            cell is None or not (cell.rows or cell.hidden or cell.folded or cell.lines or _is_long(cell.value))
            for cell in self.cells
        )

    @property
    def usual(self) -> str | None:
        """The value that more than half of the requests have; "" if there is none, which no value is as JSON."""
        value, count = Counter(self.written).most_common(1)[0]
        return value if count * 2 > len(self.written) else ""


def _is_long(text: str) -> bool:
    return len(text) > LINE or "\n" in text


def _aligned(values: Sequence[Leaves], part: str) -> dict[str, _Place]:
    aligned = {}
    for place in dict.fromkeys(place for leaves in values for place in leaves):
        # Compare as JSON text: to Python, 1 and true are equal.
        written = [_written(leaves, place) for leaves in values]
        aligned[place] = _Place(_cells(place, values, written, part), written)
    return aligned


def _cells_of(number: int, places: Iterable[_Place]) -> list[Row]:
    """Return what one request has at these places."""
    return [cell for place in places if (cell := place.cells[number]) is not None]


def _unusual(
    number: int, columns: Sequence[str], values: Mapping[str, _Place], outliers: Sequence[Outlier]
) -> frozenset[int]:
    """Return the numbers of the columns whose value is unlike the others."""
    far = {outlier.place for outlier in outliers}
    return frozenset(
        at
        for at, place in enumerate(columns)
        if place in far or values[place].usual not in ("", values[place].written[number])
    )


def _place_of(pointer: str) -> str:
    """Return the place of the value at a JSON pointer."""
    return place_of(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _context_of(request: ApprovalRequest) -> Leaves:
    context = request.context
    if not context:
        return {}
    return _by_place(context if isinstance(context, dict) else {CONTEXT: context})


def _by_place(value: Mapping[str, Any]) -> Leaves:
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
        left_out = _LeftOut(message % {"count": grouped(left)})
        left_out.left = left
        yield "…", left_out


def _row(place: str, leaf: Any, part: str) -> Row:
    """Return a value as a row, at a place that is the same wherever a page shows it."""
    if isinstance(leaf, _LeftOut):
        return Row(name=place, value=str(leaf), hidden=leaf.left)
    [row] = rows({place: leaf}, f"{part}.{_named(place)}")
    return row


def _written(leaves: Leaves, place: str) -> str | None:
    return json.dumps(true_value(leaves[place])) if place in leaves else None


def _cells(place: str, values: Sequence[Leaves], written: Sequence[str | None], part: str) -> list[Row | None]:
    """Return the values at one place, shown so that values that differ also look different."""
    cells = [_row(place, leaves[place], part) if place in leaves else None for leaves in values]
    plain = [cell for cell in cells if cell is not None and not cell.rows]
    distinct = {each for each, cell in zip(written, cells, strict=True) if cell is not None and not cell.rows}
    if len({cell.value for cell in plain}) == len(distinct):
        return cells
    # Texts that begin alike are shown whole; those that read like another value, as JSON.
    if len({cell.folded or cell.value for cell in plain}) == len(distinct):
        return [_whole(cell) for cell in cells]
    if any(cell.secret for cell in plain):
        numbers = {each: number for number, each in enumerate(dict.fromkeys(written), 1)}
        return [
            replace(cell, value=_("%(value)s, value %(number)s") % {"value": cell.value, "number": numbers[each]})
            if cell and cell.secret
            else cell
            for each, cell in zip(written, cells, strict=True)
        ]
    return [
        cell
        if cell is None or cell.rows or cell.hidden
        else Row(name=place, value=pretty(leaves[place]), block=True, note=cell.note, place=cell.whole_place)
        for leaves, cell in zip(values, cells, strict=True)
    ]


def _whole(cell: Row | None) -> Row | None:
    """Return a text that is folded as a whole one."""
    if cell is None or not cell.folded:
        return cell
    return replace(cell, value=cell.folded, folded="", place=cell.whole_place)


def _sums(inputs: Sequence[Leaves], currencies: Sequence[str]) -> list[Sum]:
    """Return the sums of the places that have nothing but numbers, one for each currency."""
    sums = []
    for place in dict.fromkeys(place for leaves in inputs for place in leaves):
        by_currency: dict[str, list[Decimal]] = {}
        count = 0
        for leaves, currency in zip(inputs, currencies, strict=True):
            if place not in leaves:
                continue
            count += 1
            number = number_in(leaves[place])
            if number is not None:
                by_currency.setdefault(currency, []).append(number)
        if count > 1 and sum(map(len, by_currency.values())) == count:
            sums += [_sum(place, numbers, currency) for currency, numbers in by_currency.items()]
    return sums


def _sum(place: str, numbers: Sequence[Decimal], currency: str) -> Sum:
    with localcontext(prec=MAX_DIGITS):
        total = grouped(sum(numbers, Decimal()))
    return Sum(place, total, len(numbers), grouped(min(numbers)), grouped(max(numbers)), currency)
