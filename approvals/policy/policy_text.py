"""The policy as JSON text, and the lines of its faults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from approvals.db.canonical_json import NotCanonical, canonical, load
from approvals.policy.policies import MAX_BYTES, MAX_VALUES, InvalidPolicy
from approvals.text.alignment import PairBudget
from approvals.text.hunks import MAX_WORK, folded, pairs_of
from approvals.text.translatable import Count, Sentence, gettext_noop

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+|\n')


def read_text(text: str) -> Any:
    """Parse a policy. Raise InvalidPolicy, with the position, if it is not JSON or cannot be written back."""
    if len(text) > MAX_BYTES:
        limit = Sentence(
            gettext_noop("larger than %(limit)s characters"),
            {"limit": Count(MAX_BYTES)},
        )
        raise InvalidPolicy({"": limit})
    try:
        document = load(text, max_values=MAX_VALUES)
        canonical(document, max_bytes=MAX_BYTES)
    except NotCanonical as error:
        fault = error.__cause__
        if not isinstance(fault, json.JSONDecodeError):
            raise InvalidPolicy({"": Sentence(error.text, error.values)}) from error
        place = {
            "line": fault.lineno,
            "column": fault.colno,
            "message": _message(fault),
        }
        text = gettext_noop(
            "not valid JSON: line %(line)s, column %(column)s: %(message)s"
        )
        raise InvalidPolicy({"": Sentence(text, place)}) from error
    return document


def place_of(fault: Sentence) -> int:
    """Return the line named in a fault; 0 if there is none."""
    line = fault.values.get("line", 0)
    return line if isinstance(line, int) else 0


#: Python's JSON error messages, with plain explanations.
_MESSAGES = {
    "Expecting ',' delimiter": gettext_noop(
        "a comma or a bracket is missing before this"
    ),
    "Expecting ':' delimiter": gettext_noop("a colon is missing before this"),
    "Expecting property name": gettext_noop(
        "a name in double quotes is missing, or there is an extra comma"
    ),
    "Illegal trailing comma": gettext_noop("there is an extra comma"),
    "Expecting value": gettext_noop("a value is missing, or is not in double quotes"),
    "Extra data": gettext_noop("there is extra text after the end"),
    "Unterminated string": gettext_noop(
        "the string that starts here has no closing quote"
    ),
    "Invalid control character": gettext_noop(
        "a string contains a line break or another control character"
    ),
}


def _message(fault: json.JSONDecodeError) -> Sentence:
    text = next(
        (words for begin, words in _MESSAGES.items() if fault.msg.startswith(begin)),
        None,
    )
    return Sentence(text) if text else Sentence("%(message)s", {"message": fault.msg})


def write_text(document: Mapping[str, Any]) -> str:
    """Return a policy as file text, with one member per line."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def line_of(text: str, path: str) -> int:
    """Return the line of the member at a path, or of the nearest one that contains it."""
    lines = dict(_lines(text))
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines.get(path, 1)


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield the path and line of each member of a valid JSON text."""
    # Open containers: the index of a list's next item, or the name of an object's next member (None before it).
    open_: list[int | str | None] = []
    line = 1
    name = ""
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
    return ".".join(map(str, open_))


def difference(before: str, after: str) -> list[str]:
    """Return the differing lines with some context, marked as in a patch; empty if there is no difference."""
    lines = []
    for hunk in (
        folded(pairs_of(before, after, PairBudget(MAX_WORK))) if before != after else ()
    ):
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
