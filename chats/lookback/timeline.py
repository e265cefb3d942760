"""Everything that happened in a chat, in order: read page by page from the rows themselves, each sort by an index of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime
from django.utils.translation import ngettext

from approvals.runtime.cursors import number_from
from approvals.runtime.json_tables import pretty
from chats.models import Chat, Step, TurnCheckpoint
from chats.queries import subagents
from chats.queries.recoveries import doubts_of

PAGE = 60
#: Characters that are shown of a value; the checkpoints hold all of it.
LONGEST = 20_000


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """Where an entry stands: when, which sort, which row; `2026-11-21T12:00:00.000000Z,3,42`. Requests have a UUID."""

    at: datetime
    rank: int
    pk: int | UUID

    def __str__(self) -> str:
        return f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ},{self.rank},{self.pk}"


def mark_from(text: str) -> Mark | None:
    """The mark that a text names; None for what is none."""
    moment, _, rest = text.partition(",")
    place, _, pk = rest.partition(",")
    rank = number_from(place)
    if rank is None or rank >= len(SORTS):
        return None
    try:
        found, key = parse_datetime(moment), SORTS[rank].key(pk)
        if found is None or found.tzinfo is None or key is None:
            return None
        return Mark(found.astimezone(UTC), rank, key)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort of entries: its name, its rows, the lookup of the moment by which they stand in the timeline, and what their keys
    are. `stays`: it is there when what was said in the chat has been removed.
    """

    name: str
    rows: Callable[[Chat], QuerySet[Any]]
    moment: str
    key: Callable[[str], int | UUID | None] = number_from
    stays: bool = False


def _calls(chat: Chat) -> QuerySet[Any]:
    return chat.tool_calls.select_related("approval__decision")


def _doubts(chat: Chat) -> QuerySet[Any]:
    return doubts_of(chat, chat.tool_calls.all()).select_related("decision")


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
    mark: Mark
    row: Any
    conversations: Sequence[tuple[str, int]] = ()

    @property
    def at(self) -> datetime:
        return self.mark.at

    @property
    def template(self) -> str:
        return f"chats/entries/_{self.kind}.html"

    @property
    def key(self) -> str:
        return f"{self.kind}-{self.mark.pk}"

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


def page_of(chat: Chat, *, before: Mark | None = None, after: Mark | None = None, size: int = PAGE) -> Page:
    """The entries next to a mark, or the latest; the same number of queries for any chat and page.

    Of a chat that was removed, what is left is where it came from and what goes on from it.
    """
    forward = after is not None and before is None
    found: list[tuple[Mark, Sort, Any]] = []
    for rank, sort in enumerate(SORTS):
        if chat.pruned_at is not None and not sort.stays:
            continue
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
    calls = [_calls_of(sort.name, row) for _, sort, row in found]
    known = subagents.conversations(chat.pk, [key for each in calls for key, _ in each])
    return [
        Entry(sort.name, mark, row, [(name, known[key]) for key, name in each if key in known])
        for (mark, sort, row), each in zip(found, calls, strict=True)
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
