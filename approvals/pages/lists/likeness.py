"""Which waiting requests of a flood are one row: those of one tool and one requester whose values are equal but for identifiers.

What a list does not read whole can't be compared, so that such requests keep rows of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Hashable, Sequence
from typing import Any

from approvals.db.json_pointer import pointer_to
from approvals.models import ApprovalRequest
from approvals.queries.request_list import GIST
from approvals.text.identifiers import is_identifier

#: Stands for an identifier; no text that a client sends has this character.
_IDENTIFIER = "\x00"


def likeness_of(request: ApprovalRequest, beginning: str, key_fields: Sequence[str]) -> Hashable | None:
    """Return what is equal for requests that are alike; None for a request that is like no other.

    `beginning` is that of the input that is decided, and `key_fields` are the JSON pointers of values that always count. A
    request with a deadline stays where people see it.
    """
    texts = (request.opening, request.surroundings or "")
    if not (request.pending and request.tool_name) or request.deadline_at is not None:
        return None
    if any(len(text) >= GIST for text in texts):
        return None
    identifiers: set[str] = set()
    values = _values(request, beginning, key_fields, identifiers)
    general = tuple(_without(identifiers, text) for text in (request.title, *texts))
    who = (request.agent, request.requested_by_id, request.kind, request.urgency, request.tool_name)
    return (*who, values, general)


def _values(request: ApprovalRequest, beginning: str, key_fields: Sequence[str], identifiers: set[str]) -> str:
    """Return the input without its identifiers as text, and add these to the set.

    Of a longer input, and of one with files, return the digest, which covers all of it.
    """
    if len(beginning) >= GIST or request.attachments:
        return request.voted_digest
    return json.dumps(_generalized(json.loads(beginning or "{}"), "", key_fields, identifiers), sort_keys=True)


def _generalized(value: Any, pointer: str, key_fields: Collection[str], identifiers: set[str]) -> Any:
    if not isinstance(value, dict):
        return value
    general = {}
    for name, item in value.items():
        below = f"{pointer}{pointer_to(name)}"
        if below not in key_fields and is_identifier(name, item):
            identifiers.add(str(item))
            item = f"{_IDENTIFIER}{type(item).__name__}"
        general[name] = _generalized(item, below, key_fields, identifiers)
    return general


def _without(identifiers: Collection[str], text: str) -> str:
    """Return a text of the agent without the identifiers of its input, where they stand as words."""
    for identifier in sorted(identifiers, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(identifier)}(?!\w)", _IDENTIFIER, text)
    return text
