"""Split text into search words, in the same way for stored texts and for searches.

A word is a run of letters and digits, without accents and in lower case; each Chinese or Japanese character is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from approvals.text.secrets import Hidden

#: Maximum length of a search, number of words used from it, and maximum length of a word.
MAX_SEARCH = 200
MAX_WORDS = 12
MAX_WORD = 60
#: How many characters are indexed of one request with its notes and decision, and how many are read for them.
MAX_KEPT = 100_000
MAX_READ = 400_000

_SIGN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGN}]|[^\W_{_SIGN}]+")
#: The word boundary in a name like `issueRefund`.
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text in order, with repeats; names like `issueRefund` as a whole and in parts."""
    for match in _WORD.findall(_plain(text[:MAX_KEPT])):
        whole = match.casefold()[:MAX_WORD]
        yield whole
        parts = _HUMP.split(match)
        if len(parts) > 1:
            yield from (part.casefold()[:MAX_WORD] for part in parts)


def words_to_index(*values: Any, limit: int = MAX_KEPT) -> str:
    """Return each word of these texts and JSON values once, separated by spaces.

    The result has at most `limit` characters, from about the first MAX_READ characters of the values.
    """
    words: dict[str, None] = {}
    length = read = 0
    for text in texts_in(values):
        if read > MAX_READ:
            break
        read += len(text)
        for word in words_in(text):
            if word in words:
                continue
            length += len(word) + 1
            if length > limit:
                return " ".join(words)
            words[word] = None
    return " ".join(words)


def texts_in(value: Any) -> Iterator[str]:
    """Yield all names, texts and numbers in a masked JSON value, so that no search finds a secret."""
    match value:
        case Hidden():
            yield value.rest
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case dict():
            for name, item in value.items():
                yield str(name)
                yield from texts_in(item)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)


def parse_search(search: str) -> list[str]:
    """Return the words of a search."""
    words = [
        word.casefold()[:MAX_WORD]
        for word in _WORD.findall(_plain(search[:MAX_SEARCH]))
    ]
    return words[:MAX_WORDS]


def _plain(text: str) -> str:
    # Decompose letters and drop their accents, so that "Muller" finds "Müller".
    decomposed = unicodedata.normalize("NFKD", text)
    return (
        decomposed
        if decomposed.isascii()
        else "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    )


def for_sqlite(words: Iterable[str]) -> str:
    """Return an FTS5 query for all words, the last one as a prefix. Each word is quoted, so it cannot be syntax."""
    return " ".join(f'"{word}"' for word in words) + "*"


def for_postgresql(words: Iterable[str]) -> str:
    """Return the same query as a `tsquery`."""
    return " & ".join(f"'{word}'" for word in words) + ":*"
