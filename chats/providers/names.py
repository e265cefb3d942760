"""Names of tools and ids of calls as a server takes them, which may refuse those that another has made. Pure."""

from __future__ import annotations

import hashlib
import re

#: The length of the ids, and of the ends of names, that we make for others.
DIGEST = 9
#: How much of a name stays readable.
READABLE = 48


def sent_name(name: str, longest: int) -> str:
    """Return a name that every server takes whose names have at most `longest` characters; a valid one stays as it is.

    A model may have called a tool that does not exist, by any name.
    """
    return name if _is_taken(name, longest) else f"{re.sub('[^a-zA-Z0-9_-]', '_', name)[:READABLE]}_{digest(name)}"


def sent_id(call_id: str, longest: int) -> str:
    """Return an id that every server takes whose ids have at most `longest` characters; a valid one stays as it is."""
    return call_id if _is_taken(call_id, longest) else digest(call_id)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]


def _is_taken(text: str, longest: int) -> bool:
    return len(text) <= longest and re.fullmatch("[a-zA-Z0-9_-]+", text) is not None
