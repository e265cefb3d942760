"""Names and words that read like others: mixed scripts, and characters that look alike (Unicode Technical Standard 39)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from confusable_homoglyphs import categories, utils
from django.utils.translation import gettext as _

from approvals.runtime.text import UNSEEN, number, visible_name

#: Scripts that people write in one word; Latin letters stand beside all of them ("Highly Restrictive" in UTS 39).
TOGETHER = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
#: Characters of every script, and marks that belong to the letter before them.
_ANY = frozenset({"COMMON", "INHERITED", "Unknown"})
_word = re.compile(r"\w+")


def tool_name_problem(name: str) -> str:
    """Why no tool is called this, in words that go behind `tool_name`; empty if one may be."""
    if UNSEEN.search(name):
        return _("contains an invisible character")
    if visible_name(name) != (name or '""'):
        return _("contains an invisible space")
    if foreign(name):
        return _("mixes letters of different alphabets: %(names)s") % {"names": ", ".join(map(spelled, foreign(name)))}
    if taken_for := plain(name):
        return _("looks like %(taken_for)r but is a different name") % {"taken_for": taken_for}
    return ""


def foreign(text: str) -> list[str]:
    """Letters of another script than the rest of their word, each once."""
    if text.isascii() or not _mixed({_script(character) for character in set(text)}):
        return []
    found: dict[str, None] = {}
    for word in _word.findall(text):
        counts = Counter(script for script in map(_script, word) if script not in _ANY)
        if _mixed(counts):
            # Of two that are as frequent, the Latin one is what people take the word for.
            main = max(counts, key=lambda script: (counts[script], script == "LATIN"))
            found |= dict.fromkeys(one for one in word if _script(one) not in {main, *_ANY})
    return list(found)


def plain(name: str) -> str:
    """What a name in other letters is taken for where it reads like one in plain letters (ASCII); empty where it does not."""
    if name.isascii() or UNSEEN.search(name):
        # Its hidden characters are shown: it reads like nothing else.
        return ""
    seen = unicodedata.normalize("NFKC", name)
    taken_for = "".join(one if one.isascii() else _prototypes().get(one, one) for one in seen)
    return taken_for if taken_for.isascii() else ""


def alike(names: Sequence[str]) -> Mapping[str, int]:
    """How many of the other names each one reads like, for those that do."""
    if len(names) < 2:
        return {}
    skeletons = {name: skeleton(name) for name in names}
    counts = Counter(skeletons.values())
    return {name: counts[found] - 1 for name, found in skeletons.items() if counts[found] > 1}


def skeleton(text: str) -> str:
    """What two texts that look alike have in common; nothing to be shown."""
    seen = UNSEEN.sub("", unicodedata.normalize("NFD", text))
    prototypes = _prototypes()
    mapped = "".join(prototypes.get(character, character) for character in seen)
    return " ".join(unicodedata.normalize("NFD", mapped).split())


def spelled(character: str) -> str:
    """A letter with its number and its name."""
    return f"{character} ({number(character)[1:-1]}, {unicodedata.name(character, 'without a name')})"


def _mixed(scripts: Iterable[str]) -> bool:
    written = set(scripts) - _ANY
    return len(written) > 1 and not any(written <= allowed for allowed in TOGETHER)


@lru_cache(maxsize=8192)
def _script(character: str) -> str:
    return str(categories.alias(character))


@cache
def _prototypes() -> Mapping[str, str]:
    """For each character the one that stands for all that look like it. The package lists, for each, those it is taken for."""
    listed = utils.load("confusables.json")
    found = {}
    for character, others in listed.items():
        if len(character) > 1 or len(others) != 1:
            continue
        other = others[0]["c"].replace("\u200e", "")
        # Of a pair that only look like each other, either could stand for both.
        pair = len(listed.get(other, ())) == 1
        found[character] = min(character, other) if pair else other
    return found
