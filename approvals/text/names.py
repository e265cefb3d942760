"""How a person is shown: the display name that they chose, always with the username beside it; their initials and colour."""

from __future__ import annotations

import zlib

from approvals.text.confusables import marked_name

#: How many colours a person may have; tokens.css names them.
TONES = 6


def full_name(display_name: str | None, username: str) -> str:
    """Return “Bob Miller (@bob)”, or the username alone: no display name passes for another person."""
    shown = marked_name(username)
    return f"{marked_name(display_name)} (@{shown})" if display_name else shown


def initials(display_name: str | None, username: str) -> str:
    """Return the first letters of the first and the last word."""
    words = [word for word in (display_name or username).split() if word[0].isalnum()] or [username]
    first, last = words[0][:1], words[-1][:1] if len(words) > 1 else ""
    return f"{first}{last}".upper()


def tone(username: str) -> int:
    """Return the number of the colour that a person has everywhere."""
    return zlib.crc32(username.encode()) % TONES
