"""Characters that nobody sees, or that turn round what is read: shown by their numbers, so that what a person approves is
what stands there (Unicode Technical Report 36, "Bidirectional Text Spoofing").
"""

from __future__ import annotations

import json
import re
import unicodedata

#: What has no glyph: controls, separators of lines, all of Default_Ignorable_Code_Point (a set that Unicode's stability policy
#: keeps inside these ranges, unassigned ones included), Bidi_Control, format controls, and blanks that are no spaces.
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
UNSEEN = re.compile(f"[{_UNSEEN}]")
#: Spaces that cannot be told from others in a name: all but single ones inside it.
_SPACES = re.compile(r"^ +| +$|(?<= ) +|[^\S ]")

#: Scripts whose letters are joined, or kept apart, by a mark of no width: Arabic and its kin, those of India and their kin.
_JOINED = re.compile(
    "[\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17d3\u1820-\u18aa\u1b05-\u1b4b\ufb50-\ufdff\ufe70-\ufefc]"
)
_KEYCAPS = frozenset("0123456789#*")


def visible(text: str) -> str:
    """The text with every such character as `⟨U+202E⟩`, but for marks where a script or an emoji needs them."""
    return UNSEEN.sub(lambda found: found[0] if _needed(text, found.start()) else number(found[0]), text)


def visible_name(name: str) -> str:
    """A name with every such character and every misleading space as `⟨U+0020⟩`; an empty one as `""`."""
    shown = _SPACES.sub(lambda found: "".join(map(number, found[0])), name)
    return UNSEEN.sub(lambda found: number(found[0]), shown) or '""'


def visible_json(text: str) -> str:
    """JSON with every such character escaped: the same value, in other bytes."""
    return UNSEEN.sub(lambda found: found[0] if _needed(text, found.start()) else json.dumps(found[0])[1:-1], text)


def number(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def _needed(text: str, place: int) -> bool:
    """Whether a mark does here what it is there for: joins letters of a joined script, orders letters that are written from
    right to left, or makes an emoji. Anywhere else, and behind another such mark, it is hidden on purpose.
    """
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    match text[place]:
        case "\u200e" | "\u200f" | "\u061c":
            return _from_the_right(before) or _from_the_right(after)
        case "\u200c" | "\u200d" if _JOINED.fullmatch(before) and not UNSEEN.fullmatch(before):
            return True
        case "\u200d":
            joins = _is_picture(before) or (before == "\ufe0f" and _needed(text, place - 1))
            return joins and _is_picture(after)
        case "\ufe0e" | "\ufe0f":
            return _is_picture(before) or (before in _KEYCAPS and after == "\u20e3")
        case _:
            return False


def _from_the_right(character: str) -> bool:
    return bool(character) and unicodedata.bidirectional(character) in {"R", "AL"} and not UNSEEN.fullmatch(character)


def _is_picture(character: str) -> bool:
    """A symbol that may be an emoji, or its skin tone."""
    kinds = {"So", "Sm", "Sk", "Po", "Pd"}
    return bool(character) and not character.isascii() and unicodedata.category(character) in kinds
