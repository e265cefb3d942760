"""Text as the words that a search finds it by: the same for what is stored and for what is looked for.

A word is a run of letters and digits without accents and capitals; a sign of Chinese or Japanese is one by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

#: Characters of one search, words of it that count, and how long one may be.
MAX_SEARCH = 200
MAX_WORDS = 12
MAX_WORD = 60
#: Characters that are kept of one request, with all that is said of it, and those that are read for them.
MAX_KEPT, MAX_READ = 100_000, 400_000

_SIGN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGN}]|[^\W_{_SIGN}]+")
#: Where one word of a name like `issueRefund` ends and the next begins.
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


def words_in(text: str) -> Iterator[str]:
    """The words of a text in order, repeats included; names like `issueRefund` whole and in their parts."""
    for found in _WORD.findall(_plain(text[:MAX_KEPT])):
        whole = found.casefold()[:MAX_WORD]
        yield whole
        parts = _HUMP.split(found)
        if len(parts) > 1:
            yield from (part.casefold()[:MAX_WORD] for part in parts)


def kept(*values: Any, limit: int = MAX_KEPT) -> str:
    """Every word in these texts and JSON values once, with a space in between: at most `limit` characters, and only from
    about the first MAX_READ.
    """
    found: dict[str, None] = {}
    length = read = 0
    for text in texts_in(values):
        if read > MAX_READ:
            break
        read += len(text)
        for word in words_in(text):
            if word in found:
                continue
            length += len(word) + 1
            if length > limit:
                return " ".join(found)
            found[word] = None
    return " ".join(found)


def texts_in(value: Any) -> Iterator[str]:
    """All names and plain values in a JSON value; null, true and false say nothing."""
    match value:
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


def looked_for(search: str) -> list[str]:
    """The words of a search; none if there is none in it. The last one may be the beginning of a word."""
    found = [word.casefold()[:MAX_WORD] for word in _WORD.findall(_plain(search[:MAX_SEARCH]))]
    return found[:MAX_WORDS]


def _plain(text: str) -> str:
    # Letters and their accents taken apart, and the accents left out: who types "Muller" finds "Müller".
    apart = unicodedata.normalize("NFKD", text)
    return apart if apart.isascii() else "".join(c for c in apart if unicodedata.category(c) != "Mn")


def for_sqlite(words: Iterable[str]) -> str:
    """A query of FTS5: all of the words, the last one as a beginning. Each is quoted, so nothing in it is syntax."""
    return " ".join(f'"{word}"' for word in words) + "*"


def for_postgresql(words: Iterable[str]) -> str:
    """The same as a `tsquery`."""
    return " & ".join(f"'{word}'" for word in words) + ":*"
