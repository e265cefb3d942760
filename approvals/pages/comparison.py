"""Several requests side by side: shared and differing values, outliers, and sums of numbers.

Each value has a place of its own in its request, by which a page reports that it was in view. Values shared by all requests are
shown once, at the same place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any
from uuid import UUID

from approvals.asking.secrets import masked_column, masked_input
from approvals.forms.shown_calls import (
    ShownFile,
    ShownInput,
    ShownMessage,
    shown_edit,
    shown_files,
    shown_message,
    unseen_files,
)
from approvals.models import ApprovalRequest
from approvals.models.attachments import files_of
from approvals.pages.outliers import Outlier, currencies_of, outliers_among
from approvals.pages.places import (
    CONTEXT,
    INPUT,
    ComparedPlace,
    Leaves,
    aligned,
    by_place,
    cells_of,
    name_of,
    row,
    without_currencies,
)
from approvals.schema.keywords import currencies_in
from approvals.shown.requests import ShownHeading, shown_heading
from approvals.text.differences import place_of
from approvals.text.numbers import grouped, number_in
from approvals.text.tables import (
    RAW_CONTEXT,
    HeldPart,
    TableRow,
    open_places,
    unseen_rows,
)

#: Maximum differing values with a column of their own; the rest, and all long values, are shown below their request.
MAX_COLUMNS = 8
#: Digits of precision, enough for the exact sum of all amounts in text.
MAX_DIGITS = 100
#: The page element with values shared by all requests of a tool.
SAME = "same"


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of `count` numbers at one path of the inputs in one `currency`, ranging from `least` to `most`."""

    name: str
    total: str
    count: int
    least: str = ""
    most: str = ""
    currency: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRequest:
    """One request: a cell for each column (None without such a value), and below these its other values that are not shared.

    `unusual` are the indexes of cells whose value differs from that of most requests, `outliers` the reasons why it differs from
    others, and `votes` how far its votes are. A bulk decision names it by its `pick`: its id and the digest of the input shown.
    """

    request: ShownHeading
    #: The digest of the input that it shows; empty if there is none.
    digest: str
    pick: str
    files: Sequence[ShownFile]
    cells: Sequence[TableRow | None]
    more: Sequence[TableRow]
    context: Sequence[TableRow] = ()
    message: ShownMessage | None = None
    #: The changed lines, if it edits a file; `more` has none of their texts.
    edit: ShownInput | None = None
    unusual: frozenset[int] = frozenset()
    outliers: Sequence[Outlier] = ()
    votes: str = ""
    columns: Sequence[str] = ()
    #: Whether the decision includes it, and the places that were in view when its page was submitted before.
    included: bool = True
    seen: str = ""

    @property
    def name(self) -> str:
        """The id of its line on the page."""
        return name_of_line(self.request.pk)

    @property
    def marked(self) -> list[tuple[str, TableRow | None, bool]]:
        """Each cell with the name of its column, and whether its value is unusual."""
        named = zip(self.columns, self.cells, strict=True)
        return [
            (name, cell, number in self.unusual)
            for number, (name, cell) in enumerate(named)
        ]

    @property
    def shown(self) -> list[TableRow]:
        """All values of the line."""
        return [
            cell
            for cell in [*self.cells, *self.more, *self.context]
            if cell is not None
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestComparison:
    """The requests of one tool: the context of `approvals/bulk/_tool.html`. `same` are the values shared by all."""

    tool: str
    lines: Sequence[ComparedRequest]
    columns: Sequence[str]
    same: Sequence[TableRow]
    sums: Sequence[Sum]
    same_context: Sequence[TableRow] = ()
    message: ShownMessage | None = None
    #: The places of shared values that were in view when the page was submitted before.
    seen: str = ""

    @property
    def name(self) -> str:
        """The id of the page element with the shared values."""
        return name_of_same(self.tool)

    def folded(self) -> Iterator[HeldPart]:
        """Yield the folded parts of these inputs and contexts."""
        for cells in (
            [*self.same, *self.same_context],
            *(line.shown for line in self.lines),
        ):
            yield from unseen_rows(cells, {*open_places(cells)})
        for line in self.lines:
            if line.edit is not None:
                yield from line.edit.unseen(line.edit.open_places())


def name_of_line(pk: UUID) -> str:
    """Return the id of a request's line, by which a page reports its parts in view."""
    return f"line-{pk}"


def name_of_same(tool: str) -> str:
    """Return the id of the values shared by all requests of a tool, by which a page reports its parts in view."""
    return f"{SAME}-{name_of(tool)}"


def compare_inputs(
    tool: str,
    requests: Sequence[ApprovalRequest],
    key_fields: Sequence[str] = (),
    votes: Mapping[UUID, str] | None = None,
    schemas: Mapping[UUID, Mapping[str, Any]] | None = None,
) -> RequestComparison:
    """Compare the inputs, contexts and messages for one tool. Outliers come first.

    `key_fields`, JSON pointers, are the first columns, even if all values are the same. `votes` describes the progress of each
    request's votes, and `schemas` has the schemas of inputs, by id.
    """
    calls = [_edit_and_values(request) for request in requests]
    inputs = [values for _edit, values in calls]
    units = [currencies_in((schemas or {}).get(request.pk)) for request in requests]
    values = without_currencies(aligned(inputs, INPUT, units))
    contexts = aligned([_context_of(request) for request in requests], CONTEXT)
    keys = [place for place in map(_place_of, key_fields) if place in values]
    alone = len(requests) == 1
    differing = [*keys, *(name for name in _own(values, alone) if name not in keys)]
    short = [place for place in differing if values[place].is_short]
    columns = short[: len(keys) if alone else max(MAX_COLUMNS, len(keys))]
    longer = [values[place] for place in differing if place not in columns]
    same = [values[place] for place in values if place not in differing]
    own_context = _own(contexts, alone)
    currencies = currencies_of(inputs, units)
    outliers = outliers_among(inputs, currencies)
    messages = [_message_of(request) for request in requests]
    same_message = messages[0] if len(set(messages)) == 1 and not alone else None
    lines = [
        ComparedRequest(
            request=shown_heading(request),
            digest=request.voted_digest if request.voted_input else "",
            pick=f"{request.pk}:{request.voted_digest}",
            files=shown_files(request.pk, files_of(request.attachments)),
            cells=[values[place].cells[number] for place in columns],
            more=cells_of(number, longer),
            context=cells_of(number, [contexts[place] for place in own_context]),
            message=None if same_message else messages[number],
            edit=calls[number][0],
            unusual=_unusual(number, columns, values, outliers[number]),
            outliers=outliers[number],
            votes=(votes or {}).get(request.pk, ""),
            columns=columns,
        )
        for number, request in enumerate(requests)
    ]
    return RequestComparison(
        tool=tool,
        lines=sorted(lines, key=lambda line: not line.outliers),
        columns=columns,
        same=cells_of(0, same),
        sums=_sums(inputs, currencies),
        same_context=cells_of(
            0, [contexts[place] for place in contexts if place not in own_context]
        ),
        message=same_message,
    )


def _own(places: Mapping[str, ComparedPlace], alone: bool) -> list[str]:
    """Return the places where requests differ. If a request is alone, all of its values stand below it."""
    return [place for place, values in places.items() if alone or values.differs]


def unseen_parts(
    request: ApprovalRequest, viewed: Collection[str]
) -> Iterator[HeldPart]:
    """Yield the parts of a request at none of the `viewed` places of the page that compares it with others."""
    edit, values = _edit_and_values(request)
    if edit is not None:
        yield from edit.unseen(viewed)
    for place, leaf in values.items():
        yield from unseen_rows([row(place, leaf, INPUT)], viewed)
    for place, leaf in _context_of(request).items():
        yield from unseen_rows([row(place, leaf, CONTEXT)], viewed, RAW_CONTEXT)
    message = _message_of(request)
    if message is not None:
        yield from message.unseen(viewed)
    yield from unseen_files(
        shown_files(request.pk, files_of(request.attachments)), viewed
    )


def _edit_and_values(request: ApprovalRequest) -> tuple[ShownInput | None, Leaves]:
    """Return the edit of a file that a request asks for, if it can be shown, and the other values of its input."""
    value = masked_input(request, request.voted_input)
    edit = shown_edit(request.tool_name, value)
    if edit is None:
        return None, by_place(value)
    shown, call = edit
    rest = {name: item for name, item in value.items() if name not in call.members}
    return shown, by_place(rest)


def _message_of(request: ApprovalRequest) -> ShownMessage | None:
    return shown_message(request.kind, masked_column(request, "message"))


def _unusual(
    number: int,
    columns: Sequence[str],
    values: Mapping[str, ComparedPlace],
    outliers: Sequence[Outlier],
) -> frozenset[int]:
    """Return the indexes of the columns with an unusual value."""
    far = {outlier.place for outlier in outliers}
    return frozenset(
        at
        for at, place in enumerate(columns)
        if place in far or values[place].is_unusual(number)
    )


def _place_of(pointer: str) -> str:
    """Return the place of the value at a JSON pointer."""
    return place_of(
        part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]
    )


def _context_of(request: ApprovalRequest) -> Leaves:
    context = masked_column(request, "context")
    if not context:
        return {}
    return by_place(context if isinstance(context, dict) else {CONTEXT: context})


def _sums(inputs: Sequence[Leaves], currencies: Sequence[str]) -> list[Sum]:
    """Return the sums at places with only numbers, one for each currency."""
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
            sums += [
                _sum(place, numbers, currency)
                for currency, numbers in by_currency.items()
            ]
    return sums


def _sum(place: str, numbers: Sequence[Decimal], currency: str) -> Sum:
    with localcontext(prec=MAX_DIGITS):
        total = grouped(sum(numbers, Decimal()))
    return Sum(
        place,
        total,
        len(numbers),
        grouped(min(numbers)),
        grouped(max(numbers)),
        currency,
    )
