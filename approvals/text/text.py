"""Text for people: invisible and direction-changing characters are made visible, and keys are hidden.

Nearly all text from agents and clients passes through here on its way to a page. See Unicode Technical Report 36,
"Bidirectional Text Spoofing".
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

from approvals.text.secrets import mask_text

#: Characters without a glyph: controls, line separators, Default_Ignorable_Code_Point (which Unicode's stability policy keeps
#: inside these ranges, unassigned ones included), Bidi_Control, format controls, and blanks that are not spaces.
_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_RUNS = re.compile(f"[{_INVISIBLE}]+")
#: Misleading spaces in a name: all but single spaces between other characters.
_SPACES = re.compile(r"^ +| +$|(?<= ) +|[^\S ]")

#: Scripts that use zero-width marks to join or separate letters: Arabic, Indic and related ones.
_JOINED = re.compile(
    "[\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17d3\u1820-\u18aa\u1b05-\u1b4b\ufb50-\ufdff\ufe70-\ufefc]"
)
_KEYCAPS = frozenset("0123456789#*")


def visible(text: str) -> str:
    """Mask keys, and replace invisible characters by `⟨U+202E⟩` etc., except marks that a script or an emoji needs."""
    return _escaped(mask_text(text), code_point)


def show_invisible(text: str) -> str:
    """Replace invisible characters as `visible` does, without masking: for revealed secrets."""
    return _escaped(text, code_point)


def in_one_line(text: str) -> str:
    """Replace line breaks and unprintable characters by single spaces."""
    printed = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printed.split())


def visible_name(name: str) -> str:
    """Replace invisible characters and misleading spaces in a name by `⟨U+0020⟩` etc., and an empty name by `""`."""
    shown = _SPACES.sub(
        lambda match: "".join(map(code_point, match[0])), mask_text(name)
    )
    return INVISIBLE.sub(lambda match: code_point(match[0]), shown) or '""'


def visible_json(text: str) -> str:
    """Mask keys in JSON, and escape invisible characters; the parsed value is otherwise unchanged."""
    text = mask_text(text)
    return _escaped(text, lambda character: json.dumps(character)[1:-1])


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    """Replace each invisible character that is not needed."""

    def escaped_run(match: re.Match[str]) -> str:
        start, end = match.span()
        # A mark is needed only beside a visible character, or as the second of two in an emoji.
        kept = {
            place
            for place in {start, start + 1, end - 1}
            if place < end and _needed(text, place)
        }
        escapes = {character: escape(character) for character in set(match[0])}
        return "".join(
            mark if place in kept else escapes[mark]
            for place, mark in enumerate(match[0], start)
        )

    return _RUNS.sub(escaped_run, text)


def code_point(character: str) -> str:
    """Return `⟨U+202E⟩` for a character."""
    return f"⟨U+{ord(character):04X}⟩"


def _needed(text: str, place: int) -> bool:
    """Return whether the mark at index `place` is legitimate: in a joined script, in right-to-left text, or in an emoji.

    Elsewhere, and after another such mark, it may be an attempt to hide something.
    """
    before = text[place - 1 : place]
    after = text[place + 1 : place + 2]
    match text[place]:
        case "\u200e" | "\u200f" | "\u061c":
            return _from_the_right(before) or _from_the_right(after)
        case "\u200c" | "\u200d" if _JOINED.fullmatch(
            before
        ) and not INVISIBLE.fullmatch(before):
            return True
        case "\u200d":
            joins = _is_picture(before) or (
                before == "\ufe0f" and _needed(text, place - 1)
            )
            return joins and _is_picture(after)
        case "\ufe0e" | "\ufe0f":
            return _is_picture(before) or (before in _KEYCAPS and after == "\u20e3")
        case _:
            return False


def _from_the_right(character: str) -> bool:
    return (
        bool(character)
        and unicodedata.bidirectional(character) in {"R", "AL"}
        and not INVISIBLE.fullmatch(character)
    )


def _is_picture(character: str) -> bool:
    """Return whether this may be an emoji or a skin tone."""
    kinds = {"So", "Sm", "Sk", "Po", "Pd"}
    return (
        bool(character)
        and not character.isascii()
        and unicodedata.category(character) in kinds
    )


def normalize_newlines(text: str) -> str:
    """Return the text with `\\n` line breaks; browsers send CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
