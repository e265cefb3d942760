"""Two checkpoints side by side, for the page: changes in full, unchanged parts in one line each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.json_types import JsonDict, JsonMapping
from approvals.text.alignment import Op, PairBudget, Stretch, text_runs
from approvals.text.secrets import masked
from approvals.text.tables import pretty
from chats.lookback.differences import (
    PartPair,
    ValueDifference,
    part_rows,
    value_changes,
)
from chats.pages.messages import TOOL_WORDS, part_view

#: Characters shown at each end of a long unchanged text, and of a long changed one.
KEPT = 160
LONGEST = 20_000
#: How many changed parts a page shows.
SHOWN = 300
OP_WORDS = {
    Op.SAME: _("unchanged"),
    Op.REMOVED: _("removed"),
    Op.ADDED: _("added"),
    Op.CHANGED: _("changed"),
}
FIELD_WORDS = {"errorText": _("error"), "text": ""}
_TEXTS = frozenset({"text", "reasoning"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text, followed by `hidden` omitted characters and by `rest`."""

    op: Op
    text: str
    hidden: int = 0
    rest: str = ""

    @property
    def tag(self) -> str:
        """The HTML element that marks this piece."""
        return {Op.REMOVED: "del", Op.ADDED: "ins"}.get(self.op, "span")


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """One value on both sides; None on the side where it is absent."""

    name: str
    before: Sequence[Piece] | None
    after: Sequence[Piece] | None


@dataclass(frozen=True, slots=True)
class ComparedParts:
    """A changed part with its fields, or consecutive unchanged parts with a line for each (`lines`)."""

    op: Op
    kind: str = ""
    tool: str = ""
    fields: Sequence[ComparedValue] = ()
    lines: list[str] = field(default_factory=list)

    @property
    def label(self) -> Any:
        return OP_WORDS[self.op]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The pairs to show. `coarse`: a text was too long to compare by word; `left_out` changed parts are not shown."""

    pairs: Sequence[ComparedParts]
    coarse: bool
    left_out: int

    @property
    def same(self) -> bool:
        return all(pair.op == Op.SAME for pair in self.pairs)


def compare(
    before: Sequence[JsonDict],
    after: Sequence[JsonDict],
    secrets: Collection[str] = (),
) -> Comparison:
    """Return the differences between two states of a message, with bounded work. Secrets are masked."""
    before = masked(list(before), secrets)
    after = masked(list(after), secrets)
    budget = PairBudget()
    pairs: list[ComparedParts] = []
    left_out = shown = 0
    for row in part_rows(before, after, budget):
        part = row.after or row.before or {}
        if part.get("type") == "step-start":
            continue
        if row.op == Op.SAME:
            if not pairs or pairs[-1].op != Op.SAME:
                pairs.append(ComparedParts(Op.SAME))
            pairs[-1].lines.append(_line(part))
        elif shown >= SHOWN:
            left_out += 1
        else:
            shown += 1
            pairs.append(_pair(row, part, budget))
    return Comparison(pairs, budget.coarse, left_out)


def _line(part: JsonMapping) -> str:
    view = part_view(part)
    return (
        f"{view.tool}: {view.state_label}" if view.kind == "tool" else view.text[:120]
    )


def _pair(row: PartPair, part: JsonMapping, budget: PairBudget) -> ComparedParts:
    view = part_view(part)
    before = _values(row.before)
    after = _values(row.after)
    fields = [_field(change, budget) for change in value_changes(before, after)]
    return ComparedParts(row.op, view.kind, view.tool, fields)


def _values(part: JsonMapping | None) -> JsonDict:
    """Return the fields of a part to show: not its type and id, which the heading shows, nor the state of a text."""
    hidden = {"type", "toolCallId"} | (
        {"state"} if part and part.get("type") in _TEXTS else set()
    )
    shown = {name: value for name, value in (part or {}).items() if name not in hidden}
    if shown.get("state") in TOOL_WORDS:
        shown["state"] = str(TOOL_WORDS[shown["state"]])
    return shown


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else pretty(value)


def _field(change: ValueDifference, budget: PairBudget) -> ComparedValue:
    first, *rest = change.path
    name = ".".join(map(str, [FIELD_WORDS.get(str(first), first), *rest]))
    sides = {
        side: "" if absent else _text_of(value)
        for side, absent, value in (
            ("before", change.op == Op.ADDED, change.before),
            ("after", change.op == Op.REMOVED, change.after),
        )
    }
    if change.op == Op.CHANGED and sides["before"] == sides["after"]:
        # Two secrets look alike.
        sides["after"] = gettext("%(value)s, changed") % {"value": sides["after"]}
    runs = text_runs(sides["before"], sides["after"], budget)
    return ComparedValue(
        name,
        None
        if change.op == Op.ADDED
        else [_piece(run) for run in runs if run.op != Op.ADDED],
        None
        if change.op == Op.REMOVED
        else [_piece(run) for run in runs if run.op != Op.REMOVED],
    )


def _piece(run: Stretch) -> Piece:
    if run.op == Op.SAME and len(run.text) > 3 * KEPT:
        return Piece(
            run.op, run.text[:KEPT], len(run.text) - 2 * KEPT, run.text[-KEPT:]
        )
    return Piece(run.op, run.text[:LONGEST], max(0, len(run.text) - LONGEST))
