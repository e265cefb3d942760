"""Texts of others on a terminal: agents, servers and files of a project may say anything."""

from __future__ import annotations


def visible(text: str, keep: str = "") -> str:
    """Return the text in one line, with the code of each character that a terminal would obey or not show.

    Those are control characters, line breaks, and what turns the direction of writing. Characters in `keep` stay.
    """
    return "".join(
        letter
        if letter.isprintable() or letter in keep
        else f"\N{MATHEMATICAL LEFT ANGLE BRACKET}U+{ord(letter):04X}\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
        for letter in text
    )
