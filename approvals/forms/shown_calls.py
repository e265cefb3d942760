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
from approvals.asking.tool_calls import Command, Edit, Fetch, Replacement, recognize
from approvals.forms.shown_files import ShownFile, shown_files, unseen_files
from approvals.forms.shown_messages import ShownMessage, shown_message
from approvals.models import ApprovalRequest
from approvals.states import ASKS
from approvals.text.alignment import Budget, Op, align
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

#: Lines and characters of an edit that are shown at once, and behind a fold.
SHOWN, FOLDED = (40, 4_000), (1_000, 60_000)
#: Edits of one call that are shown; more are in the raw JSON.
MAX_EDITS = 20
#: Pairs of lines that are compared for one call; beyond it, everything counts as removed and added.
MAX_WORK = 4_000_000
#: Longer directories, files and addresses are shown in the tables.
MAX_PATH = 1_000
#: Where the directory of a call is, in the context of its request.
DIRECTORY = "directory"
#: The place of the line that names the file and the directory of a call.
CALL = "input.call"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff: added, removed, same or heading."""

    kind: str
    text: str

    @property
    def sign(self) -> str:
        return {"added": "+", "removed": "-", "heading": ""}.get(self.kind, " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The lines of one edit: those `shown` at once, those behind a fold, and how many only the raw JSON has."""

    shown: Sequence[Line]
    more: Sequence[Line] = ()
    place: str = ""
    hidden: int = 0
    hidden_characters: int = 0
    note: str = ""
    whole: bool = False

    @property
    def fold(self) -> str:
        return ngettext("%(count)s more line", "%(count)s more lines", len(self.more)) % {
            "count": f"{len(self.more):,}"
        }

    @property
    def left_out(self) -> str:
        message = ngettext("%(count)s more line, in the raw JSON", "%(count)s more lines, in the raw JSON", self.hidden)
        return message % {"count": f"{self.hidden:,}"}

    @property
    def more_place(self) -> str:
        return f"{self.place}+"

    def unseen(self, viewed: Collection[str]) -> Iterator[Part]:
        if self.shown and self.place not in viewed:
            yield Part(self.place, characters=_characters(self.shown))
        if self.more and self.more_place not in viewed:
            yield Part(self.more_place, characters=_characters(self.more))
        if self.hidden:
            yield Part(RAW, characters=self.hidden_characters)


def _characters(lines: Sequence[Line]) -> int:
    return sum(len(line.text) + 1 for line in lines)


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
    def left_out_label(self) -> str:
        text = ngettext("%(count)s more edit, in the raw JSON", "%(count)s more edits, in the raw JSON", self.left_out)
        return text % {"count": f"{self.left_out:,}"}

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
    table, context = rows(request.input, "input"), context_rows(request.context)
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
    diffs, left_out = _diffs(call)
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


def _diffs(edit: Edit) -> tuple[list[Diff], int]:
    """Return the diffs of an edit, and how many of its edits are not among them."""
    budget, room = Budget(MAX_WORK), _Room()
    if edit.patch:
        return [room.diff("input.patch", [_patched(line) for line in edit.patch.split("\n")], edit.patch)], 0
    diffs = [
        room.diff(
            f"input.edit.{number}",
            _lines(replacement, budget),
            f"{replacement.before or ''}\n{replacement.after}",
            whole=replacement.before is None,
        )
        for number, replacement in enumerate(edit.replacements[:MAX_EDITS])
    ]
    return diffs, len(edit.replacements) - len(diffs)


class _Room:
    """How many lines and characters the diffs of one card may still have, shown and folded."""

    def __init__(self) -> None:
        self.left = [list(SHOWN), list(FOLDED)]

    def diff(self, place: str, lines: Sequence[Line], text: str, *, whole: bool = False) -> Diff:
        parts, at = [], 0
        for left in self.left:
            start = at
            while at < len(lines) and left[0] > 0 and len(lines[at].text) <= left[1]:
                left[0] -= 1
                left[1] -= len(lines[at].text)
                at += 1
            parts.append([Line(line.kind, visible(line.text)) for line in lines[start:at]])
        rest = lines[at:]
        return Diff(
            shown=parts[0],
            more=parts[1],
            place=place,
            hidden=len(rest),
            hidden_characters=_characters(rest),
            note="; ".join(misread(text)),
            whole=whole,
        )


def _lines(replacement: Replacement, budget: Budget) -> list[Line]:
    after = replacement.after.split("\n")
    if replacement.before is None:
        return [Line(Op.ADDED, text) for text in after]
    before = replacement.before.split("\n")
    lines = []
    for block in align(before, after, budget):
        if block.op == Op.ADDED:
            lines += [Line(Op.ADDED, text) for text in after[block.j1 : block.j2]]
        else:
            lines += [Line(block.op, text) for text in before[block.i1 : block.i2]]
    return lines


def _patched(line: str) -> Line:
    """Return a line of a patch, which keeps its sign."""
    if line.startswith(("@@", "*** ", "--- ", "+++ ", "diff ", "index ")):
        return Line("heading", line)
    kinds = {"+": Op.ADDED, "-": Op.REMOVED}
    return Line(kinds.get(line[:1], Op.SAME), line[1:] if line[:1] in {"+", "-", " "} else line)
