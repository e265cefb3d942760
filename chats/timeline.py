"""Everything that happened in a chat, in order: read page by page from the rows themselves, each sort by an index of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime

from approvals.readable import pretty
from chats import nesting
from chats.models import Chat, Step, TurnCheckpoint

PAGE = 60
#: Characters that are shown of a value; the checkpoints hold all of it.
LONGEST = 20_000


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """Where an entry stands: when, which sort, which row; `2026-11-21T12:00:00.000000Z,3,42`."""

    at: datetime
    rank: int
    pk: int

    def __str__(self) -> str:
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ},{self.rank},{self.pk}"


def mark_from(text: str) -> Mark | None:
    """The mark that a text names; None for what is none."""
    moment, _, rest = text.partition(",")
    rank, _, pk = rest.partition(",")
    if not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in (rank, pk)):
        return None
    try:
        found = parse_datetime(moment)
        return Mark(found.astimezone(UTC), int(rank), int(pk)) if found is not None and found.tzinfo else None
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of entries: its name, its rows, and the lookup of the moment by which they stand in the timeline."""

    name: str
    rows: Callable[[Chat], QuerySet[Any]]
    moment: str


def _calls(chat: Chat) -> QuerySet[Any]:
    asked = ("approval__decision", "recovery__decision")
    return chat.tool_calls.select_related(*asked)


#: In the order in which entries of one moment stand.
SORTS = (
    Sort("said", lambda chat: chat.messages.filter(role="user"), "created_at"),
    Sort("begun", lambda chat: chat.turns.all(), "created_at"),
    Sort("step", lambda chat: Step.objects.filter(turn__chat=chat), "created_at"),
    Sort("asked", lambda chat: _calls(chat).filter(approval__isnull=False), "approval__created_at"),
    Sort("doubted", lambda chat: _calls(chat).filter(recovery__isnull=False), "recovery__created_at"),
    Sort("decided", _calls, "approval__decision__decided_at"),
    Sort("cleared", _calls, "recovery__decision__decided_at"),
    Sort("result", _calls, "finished_at"),
    Sort("checkpoint", lambda chat: TurnCheckpoint.objects.filter(chat_pk=chat.pk).defer("tail"), "created_at"),
    Sort("ended", lambda chat: chat.turns.all(), "ended_at"),
    Sort("origin", lambda chat: Chat.objects.filter(pk=chat.pk, branched_at__isnull=False), "created_at"),
    Sort("branched", lambda chat: chat.branches.all(), "created_at"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened: `row` is what it is read from, `request` what was asked or decided there.

    `conversation` is that of the sub-agent which a result came from.
    """

    kind: str
    mark: Mark
    row: Any
    conversation: int | None = None

    @property
    def at(self) -> datetime:
        return self.mark.at

    @property
    def key(self) -> str:
        return f"{self.kind}-{self.mark.pk}"

    @property
    def request(self) -> Any:
        return self.row.approval if self.kind in {"asked", "decided"} else self.row.recovery

    @property
    def said(self) -> str:
        """What a message or a step says, without what it does."""
        found = self.row.parts if self.kind == "said" else self.row.blocks
        return "\n\n".join(part["text"] for part in found if part.get("type") == "text" and part.get("text"))

    @property
    def input(self) -> str:
        return pretty(self.row.input)[:LONGEST]

    @property
    def output(self) -> str:
        """Of a result, as JSON; "" where there is none."""
        return pretty(self.row.output)[:LONGEST] if self.row.output is not None else ""

    @property
    def given(self) -> str:
        """Of a decision, the answer or the edited input as JSON; "" where it was a mere yes or no."""
        decision = self.request.decision
        found = decision.answer if decision.edited_input is None else decision.edited_input
        return pretty(found)[:LONGEST] if found is not None else ""

    @property
    def called(self) -> list[str]:
        """The tools that a step calls."""
        return [block["name"] for block in self.row.blocks if block.get("type") == "tool_use"]


@dataclass(frozen=True, slots=True)
class Page:
    """Entries in their order; whether there are `earlier` and `later` ones."""

    entries: Sequence[Entry]
    earlier: bool
    later: bool


def page_of(chat: Chat, *, before: Mark | None = None, after: Mark | None = None, size: int = PAGE) -> Page:
    """The entries next to a mark, or the latest; the same number of queries for any chat and page."""
    forward = after is not None and before is None
    found: list[tuple[Mark, Sort, Any]] = []
    for rank, sort in enumerate(SORTS):
        rows = sort.rows(chat).filter(**{f"{sort.moment}__isnull": False})
        if (mark := after if forward else before) is not None:
            rows = rows.filter(_beyond(sort.moment, rank, mark, forward=forward))
        sign = "" if forward else "-"
        for row in rows.order_by(f"{sign}{sort.moment}", f"{sign}pk")[: size + 1]:
            found.append((Mark(_moment(row, sort.moment), rank, row.pk), sort, row))
    found.sort(key=lambda each: each[0], reverse=not forward)
    more, found = len(found) > size, sorted(found[:size], key=lambda each: each[0])
    entries = _entries(chat, found)
    return Page(entries, more if not forward else True, more if forward else before is not None)


def _beyond(moment: str, rank: int, mark: Mark, *, forward: bool) -> Q:
    """The rows of one sort on the far side of a mark."""
    word = "gt" if forward else "lt"
    beyond = Q(**{f"{moment}__{word}": mark.at})
    if rank == mark.rank:
        return beyond | Q(**{moment: mark.at, f"pk__{word}": mark.pk})
    behind = rank > mark.rank if forward else rank < mark.rank
    return beyond | Q(**{moment: mark.at}) if behind else beyond


def _moment(row: Any, lookup: str) -> datetime:
    for name in lookup.split("__"):
        row = getattr(row, name)
    moment: datetime = row
    return moment


def _entries(chat: Chat, found: Sequence[tuple[Mark, Sort, Any]]) -> list[Entry]:
    ids = [row.tool_call_id for _, sort, row in found if sort.name == "result"]
    conversations = nesting.conversations(chat.pk, ids)
    return [
        Entry(sort.name, mark, row, conversations.get(row.tool_call_id) if sort.name == "result" else None)
        for mark, sort, row in found
    ]
