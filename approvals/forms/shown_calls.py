"""How a card shows an input and its context: a command, the lines of an edit or an address first, the rest as tables. Bounded.

Lines beyond the first ones are folded and counted, and lines beyond what a page should hold are in the raw JSON alone, so that a
person who has not opened them is told before approving.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import ngettext

from approvals.asking.secrets import masked_request
from approvals.asking.tool_calls import Command, Edit, Fetch, recognize
from approvals.forms.formatted import formatted
from approvals.forms.shown_edits import Diff, diffs_of
from approvals.forms.shown_files import ShownFile, shown_files, unseen_files
from approvals.forms.shown_messages import ShownMessage, shown_message
from approvals.models import ApprovalRequest
from approvals.states import ASKS
from approvals.text.numbers import grouped
from approvals.text.tables import (
    MAX_VALUES,
    RAW,
    RAW_CONTEXT,
    Part,
    Row,
    context_rows,
    misread,
    open_places,
    rows,
    unseen_rows,
)
from approvals.text.text import visible

#: Longer directories, files and addresses are shown in the tables.
MAX_PATH = 1_000
#: Where the directory of a call is, in the context of its request.
DIRECTORY = "directory"
#: The place of the line that names the file and the directory of a call.
CALL = "input.call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownInput:
    """The context of `approvals/request/_input.html`.

    `value` is the command or the address, as a row; `parts` are what stands before the host of an address, the host, and what
    follows it. `rows` are the other members of the input, and `context` the rows of the context that are not shown with the call.
    """

    kind: str = ""
    directory: str = ""
    file: str = ""
    value: Row | None = None
    parts: tuple[str, ...] = ()
    note: str = ""
    diffs: Sequence[Diff] = ()
    left_out: int = 0
    rows: Sequence[Row] = ()
    context: Sequence[Row] = ()
    message: ShownMessage | None = None
    files: Sequence[ShownFile] = ()

    @property
    def whole(self) -> bool:
        """Whether a whole file is written."""
        return any(diff.whole for diff in self.diffs)

    @property
    def compares(self) -> bool:
        """Whether there are lines before and after, which can stand side by side."""
        return any(diff.compares for diff in self.diffs)

    @property
    def left_out_label(self) -> str:
        text = ngettext("%(count)s more edit, in the raw JSON", "%(count)s more edits, in the raw JSON", self.left_out)
        return text % {"count": grouped(self.left_out)}

    @property
    def call_place(self) -> str:
        return CALL

    def open_places(self) -> frozenset[str]:
        """Return the places that are shown without anything being opened."""
        places = {
            CALL,
            ShownMessage.place,
            *(diff.place for diff in self.diffs),
            *(file.place for file in self.files if file.known.is_picture),
            *open_places([*self.rows, *self.context]),
        }
        return frozenset(places if self.value is None else {*places, self.value.place})

    def unseen(self, viewed: Collection[str]) -> Iterator[Part]:
        """Yield every part that is at none of the `viewed` places."""
        if RAW not in viewed:
            if self.kind in {"command", "edit"} and CALL not in viewed:
                yield Part(CALL, values=1)
            yield from unseen_rows([self.value] if self.value is not None else (), viewed)
            for diff in self.diffs:
                yield from diff.unseen(viewed)
            if self.left_out:
                yield Part(RAW, values=self.left_out)
            yield from unseen_rows(self.rows, viewed)
        yield from unseen_rows(self.context, viewed, RAW_CONTEXT)
        if self.message is not None:
            yield from self.message.unseen(viewed)
        yield from unseen_files(self.files, viewed)


def shown_input(request: ApprovalRequest) -> ShownInput:
    """Return how the input, the context, the message and the files of a request are shown, without its secrets."""
    request = masked_request(request)
    return replace(_shown_values(request), message=shown_message(request), files=shown_files(request))


def _shown_values(request: ApprovalRequest) -> ShownInput:
    arguments: Mapping[str, Any] = request.input if isinstance(request.input, dict) else {}
    context, schema = context_rows(request.context), None if request.kind in ASKS else request.response_schema
    table = formatted(rows(request.input, "input"), request.input, schema)
    # The input of a question only repeats what the card shows.
    call = None if request.kind in ASKS or len(arguments) > MAX_VALUES else recognize(request.tool_name, arguments)
    if call is None or _too_long(call):
        return ShownInput(rows=table, context=context)
    named = dict(zip(arguments, table, strict=True))
    rest = [row for name, row in named.items() if name not in _members(call)]
    if isinstance(call, Fetch):
        value = named[call.member]
        return ShownInput(
            kind="fetch",
            value=value,
            parts=tuple(map(visible, call.parts)),
            note=value.note,
            rows=rest,
            context=context,
        )
    place = _place(request.context)
    left = [row for row in context if not place or row.name != DIRECTORY]
    if isinstance(call, Command):
        value, own = named[call.member], call.directory if len(call.directory) <= MAX_PATH else ""
        return ShownInput(
            kind="command",
            directory=visible(own or place),
            value=value,
            note=value.note,
            rows=rest,
            # Two directories are both shown.
            context=context if own else left,
        )
    diffs, left_out = diffs_of(call)
    if not diffs:
        # No patch that can be taken apart: its text stands in the table.
        return ShownInput(rows=table, context=context)
    return ShownInput(
        kind="edit",
        directory=visible(place),
        file=visible(call.file),
        diffs=diffs,
        left_out=left_out,
        note="; ".join(misread(call.file)),
        rows=rest,
        context=left,
    )


def _too_long(call: Command | Edit | Fetch) -> bool:
    """Return whether a file or an address is longer than what is shown in one piece."""
    if isinstance(call, Command):
        return False
    return len(call.file if isinstance(call, Edit) else call.address) > MAX_PATH


def _members(call: Command | Edit | Fetch) -> frozenset[str]:
    return call.members if isinstance(call, Edit) else frozenset({call.member})


def _place(context: Any) -> str:
    """Return the directory in the context of a request; empty if it names none."""
    directory = context.get(DIRECTORY) if isinstance(context, dict) and len(context) <= MAX_VALUES else None
    return directory if isinstance(directory, str) and len(directory) <= MAX_PATH else ""
