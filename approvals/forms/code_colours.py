"""Syntax highlighting of values: SQL, JSON, shell commands and diffs, detected by name or content. The work is bounded.

Each pattern matches wherever it starts, up to the end of the text if necessary, so no text is searched twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

#: Longer texts are not highlighted.
MAX_CHARACTERS = 50_000
#: Kinds of tokens: comment, string, number, keyword, variable; and lines of a diff: added, removed, heading.
Piece = tuple[str, str]

_STRINGS = r"""(?P<string>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)"""
_NUMBER = r"(?P<number>\b\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?\b)"
_SQL_WORDS = (
    "add all alter analyze and as asc begin between by case cascade check column commit constraint create cross database "
    "default delete desc distinct drop else end except exists explain false foreign from full function grant group having "
    "if ilike in index inner insert intersect into is join key left like limit not null offset on or order outer over "
    "partition primary references returning revoke right rollback select set table then transaction trigger true truncate "
    "union unique update using vacuum values view when where with"
)
_SHELL_WORDS = "case do done elif else esac export fi for function if in local return set source sudo then until while"


def _keywords(keywords: str, flags: str = "") -> str:
    return rf"(?P<keyword>\b(?{flags}:{'|'.join(keywords.split())})\b)"


LANGUAGES = {
    "sql": re.compile(
        rf"(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)|{_STRINGS}|{_NUMBER}|{_keywords(_SQL_WORDS, 'i')}|[^\W\d]\w*"
    ),
    "json": re.compile(
        rf'(?P<variable>"(?:[^"\\]|\\.)*"(?=\s{{0,8}}:))|{_STRINGS}|{_NUMBER}|{_keywords("true false null")}'
    ),
    "shell": re.compile(
        rf"(?P<comment>(?:^|(?<=\s))#[^\n]*)|{_STRINGS}|(?P<variable>\$\w+|\$\{{[^}}\n]*\}}?|(?<=\s)--?[A-Za-z][\w-]*)"
        rf"|{_keywords(_SHELL_WORDS)}|{_NUMBER}|[^\W\d][\w./-]*",
        re.MULTILINE,
    ),
    "diff": re.compile(
        r"(?P<heading>^(?:@@|diff |index |--- |\+\+\+ )[^\n]*)|(?P<added>^\+[^\n]*)|(?P<removed>^-[^\n]*)",
        re.MULTILINE,
    ),
}
_NAMED = {
    "sql": "sql",
    "json": "json",
    "diff": "diff",
    "patch": "diff",
    "command": "shell",
    "cmd": "shell",
    "shell": "shell",
    "bash": "shell",
}
_SQL = re.compile(
    r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|BEGIN|TRUNCATE|GRANT)\s",
    re.IGNORECASE,
)
_DIFF = re.compile(r"(?:diff --git |--- [^\n]*\n\+\+\+ )")


def language_of(name: str, text: str) -> str:
    """Return the language of a text by its name or beginning; empty if unknown."""
    if not text or len(text) > MAX_CHARACTERS:
        return ""
    named = _NAMED.get(name.lower().rpartition("_")[2], "")
    if named:
        return named if named != "json" or _is_json(text) else ""
    if name.lower() in {"query", "statement"} and _SQL.match(text):
        return "sql"
    if _DIFF.match(text):
        return "diff"
    return "json" if text[0] in "{[" and _is_json(text) else ""


#: Lines of tables, code, logs and keys: indented, unless in a list; with columns; with the end of a statement; a long run
#: without spaces, unless it is an address.
_ALIGNED = re.compile(
    r"^(?: {2,}|\t)(?!\s*(?:[-*•]|\d+[.)])\s)|\S(?: {3,}|\t)\S|(?:[{};]|\):)$|(?<!\S)(?!\w+://)[!-~]{120}"
)


def is_prose(text: str) -> bool:
    """Return whether a text should be shown in the font of the page instead of a monospaced one: most of its lines say so."""
    lines = [line for line in text[:MAX_CHARACTERS].split("\n") if line.strip()]
    return 2 * sum(map(bool, map(_ALIGNED.search, lines))) < len(lines)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def pieces(text: str, language: str) -> Iterator[Piece]:
    """Yield the tokens of a text as (kind, text); the kind of plain text is empty."""
    pattern = LANGUAGES.get(language)
    if pattern is None or len(text) > MAX_CHARACTERS:
        yield "", text
        return
    end = 0
    for match in pattern.finditer(text):
        if match.lastgroup is None:
            continue
        if match.start() > end:
            yield "", text[end : match.start()]
        yield match.lastgroup, match[0]
        end = match.end()
    if end < len(text):
        yield "", text[end:]
