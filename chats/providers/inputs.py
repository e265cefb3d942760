"""Inputs of calls as models write them, for all servers. Pure."""

from __future__ import annotations

from typing import Any

from approvals.db.canonical_json import NotCanonical, join_halves, parse
from approvals.json_types import JsonDict


def input_of(text: str, other: Any = None) -> JsonDict:
    """Return a call's input from its JSON text, or without a text the `other` one.

    Text that is not a JSON object within bounds can neither be stored nor be sent back, so it is wrapped in an object that no
    tool accepts.
    """
    try:
        value = parse(join_halves(text)) if text.strip() else other or {}
    except NotCanonical as error:
        return {"unreadable": text[:1000], "why": str(error)}
    return (
        value
        if isinstance(value, dict)
        else {"unreadable": text[:1000], "why": "not an object"}
    )
