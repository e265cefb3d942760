"""How a person is shown: the display name that they chose, always with the username beside it, and their initials."""

from __future__ import annotations

from approvals.text.confusables import marked_name


def full_name(display_name: str | None, username: str) -> str:
    """Return “Bob Miller (@bob)”, or the username alone: no display name passes for another person."""
    shown = marked_name(username)
    return f"{marked_name(display_name)} (@{shown})" if display_name else shown


def initials(display_name: str | None, username: str) -> str:
    """Return the first letters of the first and the last word."""
    words = [word for word in (display_name or username).split() if word[0].isalnum()] or [username]
    first, last = words[0][:1], words[-1][:1] if len(words) > 1 else ""
    return f"{first}{last}".upper()
