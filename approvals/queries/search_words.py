"""Split text into search words, in the same way for stored texts and for searches.

A word is a run of letters and digits, without accents and in lower case; each Chinese or Japanese character is a word. A pair of
a field and a word of its value is indexed as one more word, so that `customer:acme` costs no more than a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from approvals.record.amounts import DECIMAL
from approvals.text.numbers import AmbiguousNumber, typed_number
from approvals.text.secrets import Hidden

#: Maximum length of a search, number of words used from it, and maximum length of a word.
MAX_SEARCH = 200
MAX_WORDS = 12
MAX_WORD = 60
#: How many characters are indexed of one request with its notes and decision, and how many are read for them.
MAX_KEPT = 100_000
MAX_READ = 400_000
#: Longer values are found by their words only.
MAX_PAIRED = 60
#: Joins the parts of a pair. It is in no word, and both databases index it like a letter.
PAIR = "\ue000"
#: Fields of a request itself.
FACTS = ("tool", "agent")
#: The fact that people cannot see the amount, for `with_amounts`.
HIDDEN_AMOUNT = {"amount": "hidden"}

_SIGN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGN}]|[^\W_{_SIGN}]+")
#: The name of a field that can be searched.
FIELD = re.compile(r"[^\W\d][\w-]*")
_WRITTEN = re.compile(rf"({FIELD.pattern}):(\S{{1,{MAX_PAIRED}}})")
#: A term of a search, in this order: a comparison of the amount, one of another field, a fact without a value, a field with a
#: value, or words.
_TERM = re.compile(
    rf"""amount\s*(?P<sign>[<>]=?|[=:])\s*(?P<number>\S*)
    | (?P<compared>{FIELD.pattern}[<>]=?-?\d\S*)
    | (?P<empty>(?:{"|".join(FACTS)}):(?!\S*\w|"[^"]*\w)\S*)
    | (?:(?P<field>{FIELD.pattern}):(?=\S))?(?:"(?P<quoted>[^"]*)"|(?P<plain>\S+))""",
    re.IGNORECASE | re.VERBOSE,
)
#: The word boundary in a name like `issueRefund`.
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])")


def words_in(text: str) -> Iterator[str]:
    """Yield the words of a text in order, with repeats; names like `issueRefund` as a whole and in parts."""
    for match in _WORD.finditer(_plain(text[:MAX_KEPT])):
        yield match[0].casefold()[:MAX_WORD]
        parts = _HUMP.split(match[0])
        if len(parts) > 1:
            yield from (part.casefold()[:MAX_WORD] for part in parts)


def words_to_index(
    *values: Any, limit: int = MAX_KEPT, facts: Mapping[str, str] | None = None
) -> str:
    """Return each word of these texts and JSON values once, separated by spaces, then each pair of a field and a word.

    The result has at most `limit` characters, from about the first MAX_READ characters of the values. `facts` are FACTS of the
    request, which no value can imitate.
    """
    kept: dict[str, None] = {}
    length = 0
    for word in _words_and_pairs(values, facts or {}):
        if word in kept:
            continue
        length += len(word) + 1
        if length > limit:
            break
        kept[word] = None
    return " ".join(kept)


def _words_and_pairs(values: Sequence[Any], facts: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of these values, some repeatedly, and then the pairs. What is not consumed is not read."""
    pairs = dict.fromkeys(
        f"{PAIR}{name}{PAIR}{word}"
        for name, text in facts.items()
        for word in words_in(text)
    )
    read = 0
    for field, text in texts_in(values):
        if read > MAX_READ:
            break
        read += len(text)
        yield from words_in(text)
        if len(text) <= MAX_PAIRED:
            pairs |= dict.fromkeys(_pairs(field, words_in(text)))
        for name, value in _WRITTEN.findall(text[:MAX_KEPT]) if ":" in text else ():
            pairs |= dict.fromkeys(_pairs(name, words_in(value)))
    yield from pairs


def _pairs(field: str, words: Iterable[str]) -> list[str]:
    names = _names(field[:MAX_SEARCH])
    return [f"{name}{PAIR}{word}" for word in words for name in names]


@lru_cache(maxsize=1_000)
def _names(field: str) -> Sequence[str]:
    """Return the words of a field's name; tools use the same fields again and again."""
    return tuple(words_in(field))


def texts_in(value: Any, field: str = "", outer: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names, texts and numbers in a masked JSON value, so that no search finds a secret.

    Each comes after the names of the field around its own and of its own, with a space between them.
    """
    match value:
        case Hidden():
            yield "", value.rest
        case str():
            yield f"{outer} {field}", value
        case bool() | None:
            return
        case int() | float():
            yield f"{outer} {field}", str(value)
        case dict():
            for name, item in value.items():
                yield "", str(name)
                yield from texts_in(item, str(name), field)
        case list() | tuple():
            for item in value:
                yield from texts_in(item, field, outer)


@dataclass(frozen=True, slots=True)
class Search:
    """A search for `words`, some of them pairs with a field, and for amounts within bounds, as (operator, number).

    A search with a `problem` could not be read, and finds nothing.
    """

    words: Sequence[str] = ()
    amounts: Sequence[tuple[str, float]] = ()
    problem: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.amounts)


def parse_search(search: str) -> Search:
    """Return what a search says, such as `late tool:wire customer:acme amount>100`. Text in quotes is only words."""
    words: list[str] = []
    amounts: list[tuple[str, float]] = []
    for term in _TERM.finditer(search[:MAX_SEARCH]):
        field = term["field"]
        text = term["quoted"] or term["plain"] or ""
        number = _number_in(term)
        if problem := _problem_of(term, number):
            return Search(problem=problem % {"word": term[0]})
        if number is not None:
            amounts.append((term["sign"].replace(":", "="), float(number)))
        elif field is None:
            words += _words(text)
        else:
            value = _words(text[:MAX_PAIRED])
            fact = field.casefold() in FACTS
            names = [f"{PAIR}{field.casefold()}"] if fact else _words(field)
            # A field without a word, as in `note:*`, is a word itself.
            pairs = [f"{name}{PAIR}{word}" for name in names for word in value]
            words += pairs or names
    return Search(words[:MAX_WORDS], amounts)


def _number_in(term: re.Match[str]) -> str | None:
    """Return the number that the amount is compared with; None if there is none, or an ambiguous one."""
    try:
        number = typed_number(term["number"] or "")
    except AmbiguousNumber:
        return None
    return number if number and DECIMAL.fullmatch(number) else None


def _problem_of(term: re.Match[str], number: str | None) -> str:
    """Return why a term cannot be read, with a placeholder for the term; otherwise an empty text."""
    if term["sign"] and number is None:
        return _(
            "“%(word)s”: enter a number without thousands separators, as in amount>100."
        )
    if term["compared"]:
        return _(
            "“%(word)s”: only the amount can be compared, as in amount>100. Put other text in quotes."
        )
    if term["empty"]:
        return _("“%(word)s”: enter the value directly after the colon.")
    return ""


def _words(text: str) -> list[str]:
    return [word.casefold()[:MAX_WORD] for word in _WORD.findall(_plain(text))]


def check_search(search: str) -> str:
    """Return why a search cannot be read, or an empty text."""
    if len(search) > MAX_SEARCH:
        return _("is longer than %(limit)d characters") % {"limit": MAX_SEARCH}
    return parse_search(search).problem


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
