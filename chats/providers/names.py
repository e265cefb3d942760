"""Names of tools and ids of calls in a form that a server accepts, which may refuse those from other servers. Pure."""

from __future__ import annotations

import hashlib
import re

#: The length of our replacement ids, and of the suffixes of our replacement names.
DIGEST = 9
#: How much of a name stays readable.
READABLE = 48


def sent_name(name: str, longest: int) -> str:
    """Return a name valid for every server with names of up to `longest` characters; a valid one stays unchanged.

    A model may have called a tool that does not exist, by any name.
    """
    return (
        name
        if _is_taken(name, longest)
        else f"{re.sub('[^a-zA-Z0-9_-]', '_', name)[:READABLE]}_{digest(name)}"
    )


def sent_id(call_id: str, longest: int) -> str:
    """Return an id valid for every server with ids of up to `longest` characters; a valid one stays unchanged."""
    return call_id if _is_taken(call_id, longest) else digest(call_id)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST]


def _is_taken(text: str, longest: int) -> bool:
    return len(text) <= longest and re.fullmatch("[a-zA-Z0-9_-]+", text) is not None
