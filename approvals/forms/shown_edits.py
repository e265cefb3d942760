"""Show the edits of a call on a card: their lines before and after, in hunks. Bounded for all edits of one call together."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import ngettext

from approvals.asking.tool_calls import Edit, Replacement
from approvals.text.alignment import PairBudget
from approvals.text.hunks import Hunk, LinePair, folded, pairs_of
from approvals.text.numbers import grouped
from approvals.text.patches import FilePatch, file_of_operation, files_of_patch
from approvals.text.secrets import MARK, Hidden
from approvals.text.tables import RAW, HeldPart, misread
from approvals.text.text import visible

#: Maximum lines and characters of an edit that are shown at once, and behind a fold.
SHOWN = (40, 4_000)
FOLDED = (1_000, 60_000)
#: Maximum edits of one call, and files of one patch, that are shown; more are in the raw JSON.
MAX_EDITS = 20
#: Maximum pairs of lines compared for one call; beyond it, everything counts as removed and added.
MAX_WORK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The lines of one edit, or of one file of a patch: those `shown` at once, those behind a fold, and the number of those only
    in the raw JSON. `name` and `about` are the file of a patch, and the patch's further header lines about it. `added` and
    `removed` count lines. If it is not `numbered`, lines are counted from its start, not from that of the file.
    """

    shown: Sequence[Hunk]
    more: Sequence[Hunk] = ()
    name: str = ""
    about: Sequence[str] = ()
    place: str = ""
    added: int = 0
    removed: int = 0
    numbered: bool = True
    hidden: int = 0
    hidden_characters: int = 0
    note: str = ""
    whole: bool = False

    @property
    def compares(self) -> bool:
        """Whether it has lines before and after."""
        pairs = [pair for hunk in (*self.shown, *self.more) for pair in hunk.pairs]
        return any(pair.before is not None for pair in pairs) and any(
            pair.after is not None for pair in pairs
        )

    @property
    def fold(self) -> str:
        count = sum(len(hunk.pairs) for hunk in self.more)
        return ngettext("%(count)s more line", "%(count)s more lines", count) % {
            "count": grouped(count)
        }

    @property
    def left_out(self) -> str:
        message = ngettext(
            "%(count)s more line, in the raw JSON",
            "%(count)s more lines, in the raw JSON",
            self.hidden,
        )
        return message % {"count": grouped(self.hidden)}

    @property
    def more_place(self) -> str:
        return f"{self.place}+"

    def unseen(self, viewed: Collection[str]) -> Iterator[HeldPart]:
        """Yield the parts at none of the `viewed` places; unchanged lines count as seen with the changes around them."""
        if (self.shown or self.name) and self.place not in viewed:
            yield HeldPart(
                self.place, characters=_characters(self.shown) + len(self.name)
            )
        if self.more and self.more_place not in viewed:
            yield HeldPart(self.more_place, characters=_characters(self.more))
        if self.hidden:
            yield HeldPart(RAW, characters=self.hidden_characters)


def diffs_of(edit: Edit, work: int = MAX_WORK) -> tuple[list[Diff], int]:
    """Return the diffs of an edit, and the number of its edits that are not included; empty for a malformed patch."""
    room = _Room()
    if edit.patch or edit.operations:
        files = files_of_patch(edit.patch)
        for operation in edit.operations:
            if not (file := file_of_operation(*operation)):
                return [], 0
            files += file
        diffs = [
            _of_file(file, room, f"input.patch.{number}")
            for number, file in enumerate(files[:MAX_EDITS])
        ]
        return diffs, len(files) - len(diffs)
    budget = PairBudget(work)
    diffs = [
        replace(
            room.diff(
                f"input.edit.{number}",
                folded(_pairs(replacement, budget)),
                f"{replacement.before or ''}\n{replacement.after}",
            ),
            whole=replacement.before is None,
            numbered=replacement.before is None,
        )
        for number, replacement in enumerate(edit.replacements[:MAX_EDITS])
    ]
    return diffs, len(edit.replacements) - len(diffs)


def _of_file(file: FilePatch, room: _Room, place: str) -> Diff:
    hunks = [
        hunk
        for heading, pairs in file.parts
        # Without numbers, a program may write the unchanged lines, too, as they stand here.
        for hunk in (
            folded(pairs, heading) if file.numbered else [Hunk(pairs, heading=heading)]
        )
    ]
    pairs = [pair for hunk in hunks for pair in hunk.pairs]
    changed = [pair for pair in pairs if pair.changed]
    sides = [side or "" for pair in pairs for side in (pair.before, pair.after)]
    return replace(
        room.diff(place, hunks, "\n".join([file.name, *sides])),
        name=visible(file.name),
        about=[visible(line) for line in file.about],
        added=sum(pair.after is not None for pair in changed),
        removed=sum(pair.before is not None for pair in changed),
        numbered=file.numbered,
    )


def _pairs(replacement: Replacement, budget: PairBudget) -> Iterator[LinePair]:
    if replacement.before is None:
        for number, line in enumerate(replacement.after.split("\n"), 1):
            yield LinePair(None, line, None, number)
        return
    before, after = (
        _marks_of(text) for text in (replacement.before, replacement.after)
    )
    for pair in pairs_of(replacement.before, replacement.after, budget):
        yield replace(pair, other=before != after and MARK in (pair.before or ""))


def _marks_of(text: str) -> Sequence[str]:
    """Return marks that distinguish the secrets in a text from those in another."""
    return text.marks if isinstance(text, Hidden) else ()


class _Room:
    """The remaining lines and characters for the diffs of one card, shown and folded."""

    def __init__(self) -> None:
        self.left = [list(SHOWN), list(FOLDED)]

    def diff(self, place: str, hunks: Sequence[Hunk], text: str) -> Diff:
        parts: tuple[list[Hunk], ...] = ([], [], [])
        stage = 0
        for hunk in hunks:
            left: Hunk | None = hunk
            while left is not None and stage < len(self.left):
                taken, left = self._take(stage, left)
                parts[stage].extend(taken)
                stage += left is not None
            if left is not None:
                parts[-1].append(left)
        shown, more, rest = parts
        return Diff(
            shown=[_visible(hunk) for hunk in shown],
            more=[_visible(hunk) for hunk in more],
            place=place,
            hidden=sum(max(1, len(hunk.pairs)) for hunk in rest),
            hidden_characters=_characters(rest),
            note="; ".join(misread(text)),
        )

    def _take(self, stage: int, hunk: Hunk) -> tuple[list[Hunk], Hunk | None]:
        """Return the part of a hunk that fits in the room left, and the rest. A fold takes a line, plus room for hidden lines."""
        if hunk.folded:
            room = self.left[-1]
            if (
                self.left[stage][0] <= 0
                or len(hunk.pairs) > room[0]
                or _characters([hunk]) > room[1]
            ):
                return [], hunk
            self.left[stage][0] -= 1
            room[0] -= len(hunk.pairs)
            room[1] -= _characters([hunk])
            return [hunk], None
        room = self.left[stage]
        at = 0
        if hunk.heading and (room[0] <= 0 or len(hunk.heading) > room[1]):
            return [], hunk
        room[0] -= bool(hunk.heading)
        room[1] -= len(hunk.heading)
        while at < len(hunk.pairs) and room[0] > 0 and _size(hunk.pairs[at]) <= room[1]:
            room[0] -= 1
            room[1] -= _size(hunk.pairs[at])
            at += 1
        first = (
            [Hunk(hunk.pairs[:at], heading=hunk.heading)] if at or hunk.heading else []
        )
        return first, Hunk(hunk.pairs[at:]) if at < len(hunk.pairs) else None


def _size(pair: LinePair) -> int:
    return len(pair.before or "") + (len(pair.after or "") if pair.changed else 0)


def _characters(hunks: Sequence[Hunk]) -> int:
    return sum(
        len(hunk.heading) + sum(_size(pair) + 1 for pair in hunk.pairs)
        for hunk in hunks
    )


def _visible(hunk: Hunk) -> Hunk:
    return replace(
        hunk,
        heading=visible(hunk.heading),
        pairs=[_visible_pair(pair) for pair in hunk.pairs],
    )


def _visible_pair(pair: LinePair) -> LinePair:
    sides = [
        None if side is None else visible(side) for side in (pair.before, pair.after)
    ]
    if pair.before != pair.after and sides[0] == sides[1]:
        # One has an invisible character, the other the text that stands for it.
        sides = [json.dumps(side) for side in (pair.before, pair.after)]
    return replace(pair, before=sides[0], after=sides[1])
