"""Untrusted texts on a terminal: agents, servers and project files may contain anything."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    """Return the text on one line, with the code point of each character that a terminal would interpret or not show.

    Those are control characters, line breaks, and direction overrides. Characters in `keep` stay.
    """
    return "".join(
        letter
        if letter.isprintable() or letter in keep
        else f"\N{MATHEMATICAL LEFT ANGLE BRACKET}U+{ord(letter):04X}\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
        for letter in text
    )
