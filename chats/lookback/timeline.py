"""The timeline of a chat, read page by page from its rows, each type of entry by an index of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import ngettext

from approvals.asking.secrets import masked_input
from approvals.db.cursors import Cursor
from approvals.queries.results import ShownResult, result_of
from approvals.shown.requests import (
    ShownDecision,
    ShownHeading,
    shown_decision,
    shown_heading,
)
from approvals.text.numbers import grouped
from approvals.text.secrets import mask_text, masked
from approvals.text.tables import pretty
from chats.models import Chat, Step, TurnCheckpoint
from chats.queries import subagents
from chats.queries.projection import text_with_files
from chats.queries.recoveries import recoveries_of

PAGE = 60
#: How many characters of a value are shown; the checkpoints hold all of it.
MAX_SHOWN = 20_000


@dataclass(frozen=True, slots=True, order=True)
class TimelineCursor(Cursor):
    """The cursor of an entry: its time, the index of its type in ENTRY_TYPES, and its row's key."""

    at: datetime
    rank: int
    pk: int | UUID

    def __post_init__(self) -> None:
        if self.rank >= len(ENTRY_TYPES) or not isinstance(
            self.pk, ENTRY_TYPES[self.rank].key
        ):
            raise ValueError("not an entry of a timeline")


@dataclass(frozen=True, slots=True)
class EntryType:
    """A type of entries: its name, its rows, the lookup of their moment, and the parser of their keys.

    `kept`: the entries remain when the messages of the chat have been deleted.
    """

    name: str
    rows: Callable[[Chat], QuerySet[Any]]
    moment: str
    key: type[int | UUID] = int
    kept: bool = False


def _calls(chat: Chat) -> QuerySet[Any]:
    return chat.tool_calls.select_related("approval__decision")


def _doubts(chat: Chat) -> QuerySet[Any]:
    return recoveries_of(chat, chat.tool_calls.all()).select_related("decision")


#: In the order of entries at the same moment. Cursors hold the index of the type.
ENTRY_TYPES = (
    EntryType("message", lambda chat: chat.messages.filter(role="user"), "created_at"),
    EntryType("turn_started", lambda chat: chat.turns.all(), "created_at"),
    EntryType("step", lambda chat: Step.objects.filter(turn__chat=chat), "created_at"),
    EntryType(
        "requested",
        lambda chat: _calls(chat).filter(approval__isnull=False),
        "approval__created_at",
    ),
    EntryType("outcome_unknown", _doubts, "created_at", UUID),
    EntryType("decided", _calls, "approval__decision__decided_at"),
    EntryType("outcome_decided", _doubts, "decision__decided_at", UUID),
    EntryType("result", _calls, "finished_at"),
    EntryType(
        "checkpoint",
        lambda chat: TurnCheckpoint.objects.filter(chat_pk=chat.pk).defer("tail"),
        "created_at",
    ),
    EntryType("turn_ended", lambda chat: chat.turns.all(), "ended_at"),
    EntryType(
        "origin",
        lambda chat: Chat.objects.filter(pk=chat.pk, branched_at__isnull=False),
        "created_at",
        kept=True,
    ),
    EntryType("branched", lambda chat: chat.branches.all(), "created_at", kept=True),
)


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One entry of the timeline: the `row` it is read from and its `request`, if any.

    `conversations` are those of the sub-agents that a step called or that returned a result, as (tool, chat id).
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
        return f"chats/lookback/entries/_{self.kind}.html"

    @property
    def key(self) -> str:
        return f"{self.kind}-{self.cursor.pk}"

    @property
    def request(self) -> Any:
        return self.row.approval if self.kind in {"requested", "decided"} else self.row

    @property
    def result(self) -> ShownResult | None:
        """The result of the approved call; None if no one approved it."""
        call = self.row
        decision = (
            getattr(call.approval, "decision", None)
            if self.kind == "result" and call.approval_id
            else None
        )
        if decision is None:
            return None
        return replace(
            result_of(decision, call.executed_digest if call.attempt else ""),
            at=call.finished_at,
        )

    @property
    def text(self) -> str:
        """The text of a message or step."""
        return text_with_files(
            self.row.parts if self.kind == "message" else self.row.blocks
        )

    @property
    def input(self) -> str:
        return _shown(self._masked(self.row.input))

    @property
    def output(self) -> str:
        """The output of a result as JSON; "" if there is none."""
        return (
            _shown(self._masked(self.row.output)) if self.row.output is not None else ""
        )

    @property
    def answer(self) -> str:
        """The answer or the edited input of a decision as JSON; "" if it has neither."""
        decision = self.request.decision
        value = (
            decision.answer if decision.edited_input is None else decision.edited_input
        )
        return _shown(masked_input(self.request, value)) if value is not None else ""

    def _masked(self, value: Any) -> Any:
        return masked_input(self.row.approval, value) if self.row.approval_id else value

    @property
    def tools(self) -> list[str]:
        """The tools that a step called."""
        return [name for _, name in _calls_of("step", self.row)]


#: What the template of a type of entries shows of the columns of its row.
COLUMNS: Mapping[str, Sequence[str]] = {
    "message": ("cut_at",),
    "turn_started": ("agent", "agent_version"),
    "result": ("name", "state", "attempt", "error_text"),
    "checkpoint": ("pk", "ordinal", "kind"),
    "turn_ended": ("state", "stopped_by", "error"),
    "branched": ("branched_at",),
}
#: The types of entries that are about a request, and of those that show its decision.
OF_REQUEST = frozenset({"requested", "outcome_unknown", "decided", "outcome_decided"})
DECIDED = frozenset({"decided", "outcome_decided"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTimelineEntry:
    """An entry as `chats/lookback/_entry.html` shows it: of its `row` the columns that the template of its type names."""

    kind: str
    cursor: TimelineCursor
    template: str
    key: str
    at: datetime
    conversations: Sequence[tuple[str, int]]
    row: Mapping[str, Any]
    text: str = ""
    tools: Sequence[str] = ()
    input: str = ""
    output: str = ""
    result: ShownResult | None = None
    request: ShownHeading | None = None
    decision: ShownDecision | None = None
    answer: str = ""


def shown_entry(entry: TimelineEntry) -> ShownTimelineEntry:
    """Return an entry as its template shows it."""
    kind = entry.kind
    row = entry.row
    columns = {name: masked(getattr(row, name)) for name in COLUMNS.get(kind, ())}
    if kind in {"result", "turn_ended"}:
        columns["state_label"] = row.get_state_display()
    if kind == "checkpoint":
        columns["kind_label"] = row.get_kind_display()
    if kind == "branched":
        columns |= {"title": mask_text(str(row)), "address": row.get_absolute_url()}
    decided = kind in DECIDED
    return ShownTimelineEntry(
        kind=kind,
        cursor=entry.cursor,
        template=entry.template,
        key=entry.key,
        at=entry.at,
        conversations=entry.conversations,
        row=columns,
        text=mask_text(entry.text) if kind in {"message", "step"} else "",
        tools=entry.tools if kind == "step" else (),
        input=entry.input if kind == "result" else "",
        output=entry.output if kind == "result" else "",
        result=entry.result,
        request=shown_heading(entry.request) if kind in OF_REQUEST else None,
        decision=shown_decision(entry.request, entry.request.decision)
        if decided
        else None,
        answer=entry.answer if decided else "",
    )


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Entries in order, and whether there are `earlier` and `later` ones."""

    entries: Sequence[TimelineEntry]
    earlier: bool
    later: bool


def page_of(
    chat: Chat,
    *,
    before: TimelineCursor | None = None,
    after: TimelineCursor | None = None,
    size: int = PAGE,
) -> TimelinePage:
    """Return the entries before or after a cursor, or the latest, with the same number of queries for any chat and page.

    If the messages of the chat have been deleted, only its origin and its branches remain.
    """
    forward = after is not None and before is None
    keyed_rows: list[tuple[TimelineCursor, EntryType, Any]] = []
    for rank, entry_type in enumerate(ENTRY_TYPES):
        if chat.pruned_at is not None and not entry_type.kept:
            continue
        rows = entry_type.rows(chat).filter(**{f"{entry_type.moment}__isnull": False})
        if (cursor := after if forward else before) is not None:
            rows = rows.filter(
                _beyond(entry_type.moment, rank, cursor, forward=forward)
            )
        sign = "" if forward else "-"
        keyed_rows += [
            (
                TimelineCursor(_moment(row, entry_type.moment), rank, row.pk),
                entry_type,
                row,
            )
            for row in rows.order_by(f"{sign}{entry_type.moment}", f"{sign}pk")[
                : size + 1
            ]
        ]
    keyed_rows.sort(key=lambda each: each[0], reverse=not forward)
    more = len(keyed_rows) > size
    keyed_rows = sorted(keyed_rows[:size], key=lambda each: each[0])
    entries = _entries(chat, keyed_rows)
    return TimelinePage(
        entries, more if not forward else True, more if forward else before is not None
    )


def _beyond(moment: str, rank: int, cursor: TimelineCursor, *, forward: bool) -> Q:
    """Return the condition for rows of one type that are before or after a cursor."""
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


def _entries(
    chat: Chat, keyed_rows: Sequence[tuple[TimelineCursor, EntryType, Any]]
) -> list[TimelineEntry]:
    calls = [_calls_of(entry_type.name, row) for _, entry_type, row in keyed_rows]
    known = subagents.conversations(chat.pk, [key for each in calls for key, _ in each])
    return [
        TimelineEntry(
            entry_type.name,
            cursor,
            row,
            [(name, known[key]) for key, name in each if key in known],
        )
        for (cursor, entry_type, row), each in zip(keyed_rows, calls, strict=True)
    ]


def _calls_of(kind: str, row: Any) -> list[tuple[str, str]]:
    """Return the calls of an entry as (toolCallId, tool)."""
    if kind == "result":
        return [(row.tool_call_id, row.name)]
    blocks = row.blocks if kind == "step" else ()
    return [
        (block["id"], block["name"])
        for block in blocks
        if block.get("type") == "tool_use"
    ]


def _shown(value: Any) -> str:
    """Return a value as JSON; if it is long, its beginning and the number of omitted characters."""
    text = pretty(value)
    if (left := len(text) - MAX_SHOWN) <= 0:
        return text
    note = ngettext(
        "… %(left)s more character …", "… %(left)s more characters …", left
    ) % {"left": grouped(left)}
    return f"{text[:MAX_SHOWN]}\n{note}"
