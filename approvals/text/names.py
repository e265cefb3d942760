"""Names: canonical forms for tools, agents and MCP servers, misleading names, and the display of people's names.

Names keep their spelling for display, responses and the record, and are compared in canonical form. Misleading are mixed scripts
and confusable characters (Unicode Technical Standard 39).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from django.utils.translation import gettext as _

from approvals.text.text import INVISIBLE, code_point, visible, visible_name


def fold(name: str) -> str:
    """Return the canonical form of a name, which ignores case and Unicode variants.

    `Bash`, `BASH`, and the same in full-width letters, are one name. Letters that only look alike, such as a Cyrillic a, stay
    different.
    """
    if name.isascii():
        return name.lower()
    # Like Unicode's toNFKC_Casefold, but invisible characters stay, so a name with one is another name.
    composed = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", name).casefold()
    )
    return unicodedata.normalize("NFKC", composed.casefold())


#: Scripts that may be mixed within one word ("Highly Restrictive" in UTS 39).
TOGETHER = (
    frozenset({"LATIN", "HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "HAN", "BOPOMOFO"}),
    frozenset({"LATIN", "HAN", "HANGUL"}),
)
#: Maximum length of a tool name; its stored canonical form may be longer.
MAX_TOOL_NAME = 100
#: Characters that belong to every script, and combining marks.
_ANY = frozenset({"COMMON", "INHERITED", "Unknown"})
_word = re.compile(r"\w+")


def tool_name_problem(name: str) -> str:
    """Return why a tool may not have this name, as the predicate of `tool_name`; empty if it may."""
    if INVISIBLE.search(name):
        return _("contains an invisible character")
    if visible_name(name) != (name or '""'):
        return _("contains an invisible space")
    if len(fold(name)) > MAX_TOOL_NAME:
        return _("is longer than %(limit)s characters in its canonical form") % {
            "limit": MAX_TOOL_NAME
        }
    if letters := foreign_letters(name):
        return _("mixes letters of different alphabets: %(names)s") % {
            "names": ", ".join(map(describe_letter, letters))
        }
    if taken_for := plain_confusable(name):
        return _("looks like %(taken_for)r but is a different name") % {
            "taken_for": taken_for
        }
    return ""


def foreign_letters(text: str) -> list[str]:
    """Return the distinct letters whose script differs from the rest of their word."""
    if text.isascii() or not _mixed({_script(character) for character in set(text)}):
        return []
    letters: dict[str, None] = {}
    for word in _word.findall(text):
        counts = Counter(script for script in map(_script, word) if script not in _ANY)
        if _mixed(counts):
            # If two scripts are equally frequent, people read the word as Latin.
            main = max(counts, key=lambda script: (counts[script], script == "LATIN"))
            letters |= dict.fromkeys(
                letter for letter in word if _script(letter) not in {main, *_ANY}
            )
    return list(letters)


def plain_confusable(name: str) -> str:
    """Return the ASCII name that `name` looks like; empty if there is none."""
    if name.isascii() or INVISIBLE.search(name):
        # Its invisible characters are made visible, so it looks like no other name.
        return ""
    seen = unicodedata.normalize("NFKC", name)
    taken_for = "".join(
        character if character.isascii() else _prototypes().get(character, character)
        for character in seen
    )
    return taken_for if taken_for.isascii() else ""


def marked_name(name: str) -> str:
    """Return a person's name for display; letters that imitate another name are followed by their code point."""
    odd = set(foreign_letters(name))
    if not odd and plain_confusable(name):
        odd = {character for character in name if not character.isascii()}
    return "".join(
        f"{character}{code_point(character)}" if character in odd else character
        for character in visible(name)
    )


def count_confusables(names: Sequence[str]) -> Mapping[str, int]:
    """Return, for each confusable name of `names`, how many of the others look like it."""
    if len(names) < 2:
        return {}
    skeletons = {name: skeleton(name) for name in names}
    counts = Counter(skeletons.values())
    return {
        name: counts[form] - 1 for name, form in skeletons.items() if counts[form] > 1
    }


def skeleton(text: str) -> str:
    """Return the UTS 39 skeleton, which is equal for texts that look alike. It is not for display."""
    seen = INVISIBLE.sub("", unicodedata.normalize("NFD", text))
    prototypes = _prototypes()
    mapped = "".join(prototypes.get(character, character) for character in seen)
    return " ".join(unicodedata.normalize("NFD", mapped).split())


def describe_letter(character: str) -> str:
    """Return a letter with its code point and its Unicode name."""
    return f"{character} ({code_point(character)[1:-1]}, {unicodedata.name(character, 'without a name')})"


def _mixed(scripts: Iterable[str]) -> bool:
    written = set(scripts) - _ANY
    return len(written) > 1 and not any(written <= allowed for allowed in TOGETHER)


@lru_cache(maxsize=8192)
def _script(character: str) -> str:
    from confusable_homoglyphs import categories  # noqa: PLC0415 - loaded late

    return str(categories.alias(character))


@cache
def _prototypes() -> Mapping[str, str]:
    """Map each character to the representative of those that look like it. The package lists confusables per character."""
    from confusable_homoglyphs import utils  # noqa: PLC0415 - loaded late

    listed = utils.load("confusables.json")
    prototypes = {}
    for character, others in listed.items():
        if len(character) > 1 or len(others) != 1:
            continue
        other = others[0]["c"].replace("\u200e", "")
        # Two characters that only look like each other: choose the lower one for both.
        pair = len(listed.get(other, ())) == 1
        prototypes[character] = min(character, other) if pair else other
    return prototypes


def full_name(username: str, display_name: str | None) -> str:
    """Return “Bob Miller (@bob)”, or the username alone: no display name can imitate another person."""
    shown = marked_name(username)
    return f"{marked_name(display_name)} (@{shown})" if display_name else shown


def initials(display_name: str | None, username: str) -> str:
    """Return the first letters of the first and the last word."""
    words = [
        word for word in (display_name or username).split() if word[0].isalnum()
    ] or [username]
    first = words[0][:1]
    last = words[-1][:1] if len(words) > 1 else ""
    return f"{first}{last}".upper()
