"""Everything that happened in a chat, in order: read page by page from the rows themselves, each sort by an index of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import ngettext

from approvals.runtime.cursors import Cursor
from approvals.runtime.json_tables import pretty
from chats.models import Chat, Step, TurnCheckpoint
from chats.queries import subagents
from chats.queries.recoveries import recoveries_of

PAGE = 60
#: Characters that are shown of a value; the checkpoints hold all of it.
LONGEST = 20_000


@dataclass(frozen=True, slots=True, order=True)
class TimelineCursor(Cursor):
    """The cursor of an entry: when it happened, the index of its sort in SORTS, and its row's key."""

    at: datetime
    rank: int
    pk: int | UUID

    def __post_init__(self) -> None:
        if self.rank >= len(SORTS) or not isinstance(self.pk, SORTS[self.rank].key):
            raise ValueError("not an entry of a timeline")


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of entries: its name, its rows, the lookup of the moment by which they stand in the timeline, and what their keys
    are. `stays`: it is there when what was said in the chat has been removed.
    """

    name: str
    rows: Callable[[Chat], QuerySet[Any]]
    moment: str
    key: type[int | UUID] = int
    stays: bool = False


def _calls(chat: Chat) -> QuerySet[Any]:
    return chat.tool_calls.select_related("approval__decision")


def _doubts(chat: Chat) -> QuerySet[Any]:
    return recoveries_of(chat, chat.tool_calls.all()).select_related("decision")


#: In the order in which entries of one moment stand.
SORTS = (
    Sort("said", lambda chat: chat.messages.filter(role="user"), "created_at"),
    Sort("begun", lambda chat: chat.turns.all(), "created_at"),
    Sort("step", lambda chat: Step.objects.filter(turn__chat=chat), "created_at"),
    Sort("asked", lambda chat: _calls(chat).filter(approval__isnull=False), "approval__created_at"),
    Sort("doubted", _doubts, "created_at", UUID),
    Sort("decided", _calls, "approval__decision__decided_at"),
    Sort("cleared", _doubts, "decision__decided_at", UUID),
    Sort("result", _calls, "finished_at"),
    Sort("checkpoint", lambda chat: TurnCheckpoint.objects.filter(chat_pk=chat.pk).defer("tail"), "created_at"),
    Sort("ended", lambda chat: chat.turns.all(), "ended_at"),
    Sort("origin", lambda chat: Chat.objects.filter(pk=chat.pk, branched_at__isnull=False), "created_at", stays=True),
    Sort("branched", lambda chat: chat.branches.all(), "created_at", stays=True),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: `row` is what it is read from, `request` what was asked or decided there.

    `conversations` are those of the sub-agents that a step calls, or that a result came from: tool and number.
    """

    kind: str
    cursor: TimelineCursor
    row: Any
    conversations: Sequence[tuple[str, int]] = ()

    @property
    def at(self) -> datetime:
        return self.cursor.at

    @property
    def template(self) -> str:
        return f"chats/entries/_{self.kind}.html"

    @property
    def key(self) -> str:
        return f"{self.kind}-{self.cursor.pk}"

    @property
    def request(self) -> Any:
        return self.row.approval if self.kind in {"asked", "decided"} else self.row

    @property
    def said(self) -> str:
        """What a message or a step says, without what it does."""
        found = self.row.parts if self.kind == "said" else self.row.blocks
        return "\n\n".join(part["text"] for part in found if part.get("type") == "text" and part.get("text"))

    @property
    def input(self) -> str:
        return _shown(self.row.input)

    @property
    def output(self) -> str:
        """Of a result, as JSON; "" where there is none."""
        return _shown(self.row.output) if self.row.output is not None else ""

    @property
    def given(self) -> str:
        """Of a decision, the answer or the edited input as JSON; "" where it was a mere yes or no."""
        decision = self.request.decision
        found = decision.answer if decision.edited_input is None else decision.edited_input
        return _shown(found) if found is not None else ""

    @property
    def called(self) -> list[str]:
        """The tools that a step calls."""
        return [name for _, name in _calls_of("step", self.row)]


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in their order; whether there are `earlier` and `later` ones."""

    entries: Sequence[Entry]
    earlier: bool
    later: bool


def page_of(
    chat: Chat, *, before: TimelineCursor | None = None, after: TimelineCursor | None = None, size: int = PAGE
) -> Page:
    """The entries next to a cursor, or the latest; the same number of queries for any chat and page.

    Of a chat that was removed, what is left is where it came from and what goes on from it.
    """
    forward = after is not None and before is None
    found: list[tuple[TimelineCursor, Sort, Any]] = []
    for rank, sort in enumerate(SORTS):
        if chat.pruned_at is not None and not sort.stays:
            continue
        rows = sort.rows(chat).filter(**{f"{sort.moment}__isnull": False})
        if (cursor := after if forward else before) is not None:
            rows = rows.filter(_beyond(sort.moment, rank, cursor, forward=forward))
        sign = "" if forward else "-"
        for row in rows.order_by(f"{sign}{sort.moment}", f"{sign}pk")[: size + 1]:
            found.append((TimelineCursor(_moment(row, sort.moment), rank, row.pk), sort, row))
    found.sort(key=lambda each: each[0], reverse=not forward)
    more, found = len(found) > size, sorted(found[:size], key=lambda each: each[0])
    entries = _entries(chat, found)
    return Page(entries, more if not forward else True, more if forward else before is not None)


def _beyond(moment: str, rank: int, cursor: TimelineCursor, *, forward: bool) -> Q:
    """The rows of one sort on the far side of a cursor."""
    word = "gt" if forward else "lt"
    beyond = Q(**{f"{moment}__{word}": cursor.at})
    if rank == cursor.rank:
        return beyond | Q(**{moment: cursor.at, f"pk__{word}": cursor.pk})
    behind = rank > cursor.rank if forward else rank < cursor.rank
    return beyond | Q(**{moment: cursor.at}) if behind else beyond


def _moment(row: Any, lookup: str) -> datetime:
    for name in lookup.split("__"):
        row = getattr(row, name)
    moment: datetime = row
    return moment


def _entries(chat: Chat, found: Sequence[tuple[TimelineCursor, Sort, Any]]) -> list[Entry]:
    calls = [_calls_of(sort.name, row) for _, sort, row in found]
    known = subagents.conversations(chat.pk, [key for each in calls for key, _ in each])
    return [
        Entry(sort.name, cursor, row, [(name, known[key]) for key, name in each if key in known])
        for (cursor, sort, row), each in zip(found, calls, strict=True)
    ]


def _calls_of(kind: str, row: Any) -> list[tuple[str, str]]:
    """The calls that an entry is about: toolCallId and tool."""
    if kind == "result":
        return [(row.tool_call_id, row.name)]
    blocks = row.blocks if kind == "step" else ()
    return [(block["id"], block["name"]) for block in blocks if block.get("type") == "tool_use"]


def _shown(value: Any) -> str:
    """A value as JSON; what is left out is said."""
    text = pretty(value)
    if (left := len(text) - LONGEST) <= 0:
        return text
    words = ngettext("… %(left)s more character …", "… %(left)s more characters …", left) % {"left": f"{left:,}"}
    return f"{text[:LONGEST]}\n{words}"
