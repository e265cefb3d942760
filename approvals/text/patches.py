"""Parse patches, in `apply_patch` and unified format, into files and hunks. Any unknown line makes a text no patch. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from approvals.text.hunks import LinePair, beside

#: Maximum number of lines; longer patches are not parsed.
MAX_LINES = 5_000
#: Maximum characters of a file's name and header lines, which are never folded.
MAX_HEAD = 1_000
_BEGIN = "*** Begin Patch"
_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (\S.*)")
_MOVED = re.compile(r"\*\*\* Move to: (\S.*)")
_RANGES = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*")
#: Header lines of a file in a git patch, besides `---` and `+++`.
_ABOUT = re.compile(
    r"(?:index|old mode|new mode|new file mode|deleted file mode|similarity index|rename from|rename to|copy from|copy to) .+"
)
_END = "*** End of File"
#: Programs drop the spaces before a marker: what looks like an unchanged line would delete a file.
_INDENTED = re.compile(r"\s+(?:\*\*\* |@@(?: |$))")


@dataclass(slots=True)
class FilePatch:
    """The patch of one file. `about` are header lines with more than its name; `parts` are the hunks with their headings.

    If it is not `numbered`, the lines are counted from its start, not from that of the file.
    """

    name: str
    about: list[str] = field(default_factory=list)
    parts: list[tuple[str, list[LinePair]]] = field(default_factory=list)
    numbered: bool = True


class _NoPatch(Exception):
    """A line does not belong to a patch."""


def files_of_patch(text: str) -> list[FilePatch]:
    """Return the files of a patch; empty if it is too long, or not complete and well-formed."""
    try:
        lines = _lines(text)
        return _bounded(
            _own_files(lines) if lines[0].strip() == _BEGIN else _unified_files(lines)
        )
    except _NoPatch:
        return []


def file_of_operation(action: str, name: str, text: str) -> list[FilePatch]:
    """Return the file that one operation changes: Update, Add or Delete, and the text without markers; empty as above."""
    try:
        return _bounded([_own_file(action, name, _lines(text) if text else [])])
    except _NoPatch:
        return []


def _bounded(files: Iterable[FilePatch]) -> list[FilePatch]:
    parsed = list(files)
    if any(sum(map(len, [file.name, *file.about])) > MAX_HEAD for file in parsed):
        raise _NoPatch
    return parsed


def _lines(text: str) -> Sequence[str]:
    """Return the lines of a patch. Raise _NoPatch if there are too many, or if programs could split them in two ways."""
    text = text.strip("\r\n")
    if text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    lines = text.splitlines()
    if not 0 < len(lines) <= MAX_LINES or "\n".join(lines) != text:
        raise _NoPatch
    return lines


def _own_files(lines: Sequence[str]) -> Iterator[FilePatch]:
    """Yield the files of an `apply_patch` patch, whose hunks have no numbers."""
    if lines[-1].strip() != "*** End Patch":
        raise _NoPatch
    at = 1
    while at < len(lines) - 1:
        start = _FILE.fullmatch(lines[at])
        if start is None:
            raise _NoPatch
        end = at + 1
        while end < len(lines) - 1 and not _FILE.fullmatch(lines[end]):
            end += 1
        yield _own_file(start[1], start[2], lines[at + 1 : end])
        at = end


def _own_file(action: str, name: str, lines: Sequence[str]) -> FilePatch:
    file = FilePatch(name, numbered=action != "Update")
    if any(map(_INDENTED.match, lines)):
        raise _NoPatch
    if action != "Update":
        file.about.append(f"*** {action} File")
        wrong = (
            any(not line.startswith("+") for line in lines)
            if action == "Add"
            else bool(lines)
        )
        if wrong:
            raise _NoPatch
        file.parts = [("", _pairs(lines, 1, 1))] if lines else []
        return file
    if lines and (moved := _MOVED.fullmatch(lines[0])):
        file.about.append(f"*** Move to: {moved[1]}")
        lines = lines[1:]
    heading = ""
    part = list[str]()
    was = 1
    now = 1
    for line in [*lines, None]:
        if line is not None and line not in {"@@", _END} and not line.startswith("@@ "):
            part.append(line)
            continue
        if heading or part:
            pairs = _pairs(part, was, now)
            was += sum(pair.was is not None for pair in pairs)
            now += sum(pair.now is not None for pair in pairs)
            file.parts.append((heading, pairs))
        heading = line or ""
        part = []
    return file


def _unified_files(lines: Sequence[str]) -> Iterator[FilePatch]:
    at = 0
    while at < len(lines):
        file, at = _unified_head(lines, at)
        while at < len(lines) and (ranges := _RANGES.fullmatch(lines[at])):
            was = int(ranges[1])
            now = int(ranges[3])
            removed = int(ranges[2] or 1)
            added = int(ranges[4] or 1)
            start = at = at + 1
            while at < len(lines) and (
                removed > 0 or added > 0 or lines[at].startswith("\\")
            ):
                removed -= lines[at][:1] in {"", " ", "-"}
                added -= lines[at][:1] in {"", " ", "+"}
                at += 1
            if removed or added:
                raise _NoPatch
            file.parts.append((lines[start - 1], _pairs(lines[start:at], was, now)))
        if not file.parts and not file.about:
            raise _NoPatch
        yield file


def _unified_head(lines: Sequence[str], at: int) -> tuple[FilePatch, int]:
    """Return a file without its hunks, and the line where they start."""
    name = ""
    about = []
    if lines[at].startswith("diff --git "):
        name = lines[at].removeprefix("diff --git ")
        at = at + 1
        while at < len(lines) and _ABOUT.fullmatch(lines[at]):
            about.append(lines[at])
            at += 1
    if (
        at + 1 < len(lines)
        and lines[at].startswith("--- ")
        and lines[at + 1].startswith("+++ ")
    ):
        before, after = (line[4:].partition("\t")[0] for line in lines[at : at + 2])
        at += 2
        same = before.removeprefix("a/") == after.removeprefix("b/")
        shown = after.removeprefix("b/") if same else f"{before} → {after}"
        # The git line names the files again; keep it only if it names others.
        about += (
            []
            if name in {"", f"{before} {after}"} or "/dev/null" in {before, after}
            else [f"diff --git {name}"]
        )
        name = shown
    if not name:
        raise _NoPatch
    return FilePatch(name, about), at


def _pairs(lines: Sequence[str], was: int, now: int) -> list[LinePair]:
    """Return the lines of a hunk, with removed lines beside those added after them. Numbering starts at `was` and `now`."""
    pairs: list[LinePair] = []
    removed: list[tuple[int | None, str]] = []
    added: list[tuple[int | None, str]] = []
    for line in [*lines, None]:
        sign = " " if not line else line[0]
        if line is None or sign in {" ", "\\"} or (sign == "-" and added):
            pairs += beside(removed, added)
            removed = []
            added = []
        if line is None:
            break
        if sign not in {" ", "-", "+", "\\"}:
            raise _NoPatch
        if sign == "\\":
            pairs.append(LinePair(line, line))
            continue
        text = line[1:]
        if sign == " ":
            pairs.append(LinePair(text, text, was, now))
        elif sign == "-":
            removed.append((was, text))
        else:
            added.append((now, text))
        was += sign != "+"
        now += sign != "-"
    return pairs
