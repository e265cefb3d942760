"""Show an input and its context on a card: a command, edited lines or an address first, the rest as tables. Bounded.

Lines beyond the first ones are folded and counted, and lines beyond the limit of a page are only in the raw JSON, so that a
person who has not opened them is warned before approving.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from uuid import UUID

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from approvals.asking.secrets import ShownContent
from approvals.asking.tool_calls import Command, Edit, Fetch, recognize
from approvals.forms.formatted import formatted, without_currency
from approvals.forms.shown_edits import Diff, diffs_of
from approvals.models.attachments import AttachedFile, address_of, files_of
from approvals.states import ASKS, Kind
from approvals.text.file_types import CSV, GIF, JPEG, PDF, PNG, TEXT, WEBP
from approvals.text.numbers import grouped
from approvals.text.tables import (
    MAX_VALUES,
    RAW,
    RAW_CONTEXT,
    SHOWN_CHARACTERS,
    SHOWN_LINES,
    HeldPart,
    TableRow,
    context_rows,
    misread,
    open_places,
    rows,
    unseen_rows,
)
from approvals.text.text import visible

#: Longer directories, files and addresses are shown in the tables.
MAX_PATH = 1_000
#: Members of a request's context with the directory of a call.
DIRECTORY = "directory"
_NO_DIFF = _("shown as text: too long, or not a well-formed patch")
#: Maximum pairs of lines compared for each of several requests.
COMPARED_WORK = 80_000
#: The place of the line that names the file and the directory of a call.
CALL = "input.call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownInput:
    """The context of `approvals/request/_input.html`.

    `value` is the command or the address, as a row; `parts` are the text before an address's host, the host, and the text after
    it. `rows` are the other members of the input, and `context` the rows of the context that are not shown with the call.
    """

    kind: str = ""
    directory: str = ""
    file: str = ""
    value: TableRow | None = None
    parts: tuple[str, ...] = ()
    note: str = ""
    diffs: Sequence[Diff] = ()
    left_out: int = 0
    rows: Sequence[TableRow] = ()
    context: Sequence[TableRow] = ()
    message: ShownMessage | None = None
    files: Sequence[ShownFile] = ()

    @property
    def whole(self) -> bool:
        """Whether a whole file is written."""
        return any(diff.whole for diff in self.diffs)

    @property
    def compares(self) -> bool:
        """Whether there are lines before and after, which can be shown side by side."""
        return any(diff.compares for diff in self.diffs)

    @property
    def numbered(self) -> bool:
        """Whether lines have the numbers that they have in their files."""
        return all(diff.numbered for diff in self.diffs)

    @property
    def changed_files(self) -> int:
        """How many files a patch changes; 0 for an edit, which is of one file."""
        named = sum(bool(diff.name) for diff in self.diffs)
        return named and named + self.left_out

    @property
    def left_out_label(self) -> str:
        text = ngettext(
            "%(count)s more edit, in the raw JSON",
            "%(count)s more edits, in the raw JSON",
            self.left_out,
        )
        return text % {"count": grouped(self.left_out)}

    @property
    def call_place(self) -> str:
        return CALL

    def open_places(self) -> frozenset[str]:
        """Return the places that are visible before anything is opened."""
        places = {
            CALL,
            ShownMessage.place,
            *(diff.place for diff in self.diffs),
            *(file.place for file in self.files if file.known.is_picture),
            *open_places([*self.rows, *self.context]),
        }
        return frozenset(places if self.value is None else {*places, self.value.place})

    def unseen(self, viewed: Collection[str]) -> Iterator[HeldPart]:
        """Yield every part that is at none of the `viewed` places."""
        if RAW not in viewed:
            if self.kind in {"command", "edit"} and CALL not in viewed:
                yield HeldPart(CALL, values=1)
            yield from unseen_rows(
                [self.value] if self.value is not None else (), viewed
            )
            for diff in self.diffs:
                yield from diff.unseen(viewed)
            if self.left_out:
                yield HeldPart(RAW, values=self.left_out)
            yield from unseen_rows(self.rows, viewed)
        yield from unseen_rows(self.context, viewed, RAW_CONTEXT)
        if self.message is not None:
            yield from self.message.unseen(viewed)
        yield from unseen_files(self.files, viewed)


def shown_input(request: ShownContent) -> ShownInput:
    """Return the input, context, message and files of a request for display."""
    message = shown_message(request.kind, request.message)
    shown = _shown_values(request)
    return replace(
        shown,
        rows=without_currency(shown.rows),
        message=message,
        files=shown_files(request.pk, files_of(request.attachments))
        if request.attachments
        else (),
    )


def _shown_values(request: ShownContent) -> ShownInput:
    arguments: Mapping[str, Any] = (
        request.input if isinstance(request.input, dict) else {}
    )
    context = formatted(context_rows(request.context), request.context, None)
    schema = None if request.kind in ASKS else request.response_schema
    table = formatted(rows(request.input, "input"), request.input, schema)
    # The input of a question only repeats the card.
    call = (
        None
        if request.kind in ASKS or len(arguments) > MAX_VALUES
        else recognize(request.tool_name, arguments)
    )
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
    place = directory_in(request.context)
    left = [row for row in context if not place or row.name != DIRECTORY]
    if isinstance(call, Command):
        value = named[call.member]
        own = call.directory if len(call.directory) <= MAX_PATH else ""
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
        # The patch cannot be parsed: its text is shown in the table.
        [name] = call.members & {"diff", "operations"} or call.members
        note = "; ".join(filter(None, [named[name].note, str(_NO_DIFF)]))
        named[name] = replace(named[name], note=note)
        return ShownInput(rows=list(named.values()), context=context)
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


def shown_edit(
    tool: str, arguments: Mapping[str, Any]
) -> tuple[ShownInput, Edit] | None:
    """Return the edit in a masked input, if all its lines can be shown among other requests."""
    call = None if len(arguments) > MAX_VALUES else recognize(tool, arguments)
    if not isinstance(call, Edit) or _too_long(call):
        return None
    diffs, left_out = diffs_of(call, COMPARED_WORK)
    if not diffs or left_out or any(diff.hidden for diff in diffs):
        return None
    note = "; ".join(misread(call.file))
    shown = ShownInput(kind="edit", file=visible(call.file), diffs=diffs, note=note)
    return shown, call


def _too_long(call: Command | Edit | Fetch) -> bool:
    """Return whether a file or an address is too long to be shown in one piece."""
    if isinstance(call, Command):
        return False
    return len(call.file if isinstance(call, Edit) else call.address) > MAX_PATH


def _members(call: Command | Edit | Fetch) -> frozenset[str]:
    return call.members if isinstance(call, Edit) else frozenset({call.member})


def directory_in(context: Any) -> str:
    """Return the directory in the context of a request; empty if it names none."""
    directory = (
        context.get(DIRECTORY)
        if isinstance(context, dict) and len(context) <= MAX_VALUES
        else None
    )
    return (
        directory if isinstance(directory, str) and len(directory) <= MAX_PATH else ""
    )


#: Maximum width and height of a picture on a page.
BOX = (640, 420)
TYPES = {
    PNG: _("PNG image"),
    JPEG: _("JPEG image"),
    GIF: _("GIF image"),
    WEBP: _("WebP image"),
    PDF: "PDF",
    TEXT: _("Text"),
    CSV: _("CSV table"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file on a card. `place` is where it is shown; a file that is not shown counts as seen when its link was opened."""

    known: AttachedFile
    place: str
    address: str
    preview: str

    @property
    def about(self) -> str:
        """Its type and size, in words."""
        return f"{TYPES[self.known.media_type]}, {filesizeformat(self.known.size)}"

    @property
    def box(self) -> tuple[int, int]:
        """Width and height of its picture on the page, which are reserved before it is loaded."""
        width = self.known.width or 1
        height = self.known.height or 1
        scale = min(1, BOX[0] / width, BOX[1] / height)
        return max(1, round(width * scale)), max(1, round(height * scale))


def shown_files(request_id: UUID, files: Sequence[AttachedFile]) -> list[ShownFile]:
    """Return the files of a request, or of its answer, for its card."""
    return [
        ShownFile(
            known=file,
            place=f"file.{number}",
            address=address_of(request_id, file),
            preview=reverse("approvals:attachment", args=[request_id, file.id])
            if file.is_text or file.media_type == PDF
            else "",
        )
        for number, file in enumerate(files)
    ]


def unseen_files(
    files: Sequence[ShownFile], viewed: Collection[str]
) -> Iterator[HeldPart]:
    """Yield every file that is at none of the `viewed` places."""
    return (HeldPart(file.place, files=1) for file in files if file.place not in viewed)


#: Lines and characters of a longer message beside an input are folded.
SHOWN = (12, 1_000)


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """The text of a message, or its beginning if the `whole` is folded; both in Markdown."""

    place: ClassVar = "message"
    whole_place: ClassVar = "message+"

    text: str
    whole: str = ""

    def unseen(self, viewed: Collection[str]) -> Iterator[HeldPart]:
        """Yield the part that is at none of the `viewed` places, if there is one."""
        if self.place not in viewed and self.whole_place not in viewed:
            yield HeldPart(self.place, characters=len(self.whole or self.text))
        elif self.whole and self.whole_place not in viewed:
            yield HeldPart(self.place, characters=len(self.whole) - len(self.text))


def shown_message(kind: str, text: str) -> ShownMessage | None:
    """Return the message of a request of this kind for display; None if it has none."""
    most_lines, most = (SHOWN_LINES, SHOWN_CHARACTERS) if kind in ASKS else SHOWN
    if kind == Kind.RECOVERY or (len(text) <= most and text.count("\n") < most_lines):
        return ShownMessage(text) if text else None
    return ShownMessage("\n".join(text[:most].split("\n")[: most_lines // 2]), text)
