"""Similar waiting requests of a flood, which share one row: those of one tool and requester that differ only in identifiers.

Values that a list does not read in full cannot be compared, so such requests keep rows of their own.
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

#: Placeholder for an identifier; no client's text contains this character.
_IDENTIFIER = "\x00"


def likeness_of(
    request: ApprovalRequest, beginning: str, key_fields: Sequence[str]
) -> Hashable | None:
    """Return a key that is equal for similar requests; None for a request that is similar to no other.

    `beginning` is that of the input being decided, and `key_fields` are JSON pointers to values that always count. A request
    with a deadline stays visible in its own row.
    """
    texts = (request.opening, request.surroundings or "")
    if not (request.pending and request.tool_name) or request.deadline_at is not None:
        return None
    if any(len(text) >= GIST for text in texts):
        return None
    identifiers: set[str] = set()
    values = _values(request, beginning, key_fields, identifiers)
    general = tuple(_without(identifiers, text) for text in (request.title, *texts))
    who = (
        request.agent,
        request.requested_by_id,
        request.kind,
        request.urgency,
        request.tool_name,
    )
    return (*who, values, general)


def _values(
    request: ApprovalRequest,
    beginning: str,
    key_fields: Sequence[str],
    identifiers: set[str],
) -> str:
    """Return the input without its identifiers as text, and add these to the set.

    For a longer input, and one with files, return the digest, which covers all of it.
    """
    if len(beginning) >= GIST or request.attachments:
        return request.voted_digest
    return json.dumps(
        _generalized(json.loads(beginning or "{}"), "", key_fields, identifiers),
        sort_keys=True,
    )


def _generalized(
    value: Any, pointer: str, key_fields: Collection[str], identifiers: set[str]
) -> Any:
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
    """Return an agent's text without the identifiers of its input, where they are whole words."""
    for identifier in sorted(identifiers, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(identifier)}(?!\w)", _IDENTIFIER, text)
    return text
