"""The policy as text: the JSON that people and files write, and in which of its lines a fault is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from approvals.db.canonical_json import NotCanonical, canonical, load
from approvals.policy.policies import MAX_BYTES, MAX_VALUES, InvalidPolicy
from approvals.text.alignment import Budget
from approvals.text.hunks import MAX_WORK, folded, pairs_of
from approvals.text.translatable import Count, Sentence, gettext_noop

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+|\n')


def read_text(text: str) -> Any:
    """Return the document that a text is. InvalidPolicy if it is no JSON, which says where, or none that can be written again."""
    if len(text) > MAX_BYTES:
        limit = Sentence(gettext_noop("larger than %(limit)s characters"), {"limit": Count(MAX_BYTES)})
        raise InvalidPolicy({"": limit})
    try:
        document = load(text, max_values=MAX_VALUES)
        canonical(document, max_bytes=MAX_BYTES)
    except NotCanonical as error:
        raise InvalidPolicy({"": Sentence(error.text, error.values)}) from error
    return document


def write_text(document: Mapping[str, Any]) -> str:
    """Return a policy as the text of a file, one member to a line."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def line_of(text: str, path: str) -> int:
    """Return the line of the member at a path, or of the nearest one that contains it."""
    lines = dict(_lines(text))
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path, 1)


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield the path of each member of a valid JSON text with its line."""
    # What is open: the index of the next item of a list, or the name of the next member of an object, None before it.
    open_: list[int | str | None] = []
    line, name = 1, ""
    for part in _TOKEN.findall(text):
        match part:
            case "\n":
                line += 1
            case "{" | "[":
                if open_ and isinstance(open_[-1], int):
                    yield _path(open_), line
                open_.append(None if part == "{" else 0)
            case "}" | "]":
                open_.pop()
            case ",":
                open_[-1] = open_[-1] + 1 if isinstance(open_[-1], int) else None
            case ":":
                open_[-1] = json.loads(name)
                yield _path(open_), line
            case _:
                name = part
                if open_ and isinstance(open_[-1], int):
                    yield _path(open_), line


def _path(open_: list[int | str | None]) -> str:
    return ".".join(str(step) for step in open_ if step is not None)


def difference(before: str, after: str) -> list[str]:
    """Return the lines that differ, with some around them, marked as in a patch; nothing if none does."""
    lines = []
    for hunk in folded(pairs_of(before, after, Budget(MAX_WORK))) if before != after else ():
        if hunk.folded:
            lines.append("…")
            continue
        for pair in hunk.pairs:
            if not pair.changed:
                lines.append(f"  {pair.before}")
                continue
            lines += [f"- {pair.before}"] if pair.before is not None else []
            lines += [f"+ {pair.after}"] if pair.after is not None else []
    return lines
