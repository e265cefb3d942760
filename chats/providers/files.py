"""Files that a model refuses: they are left out of the request, so that the chat can continue. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from chats.agent.files import count_files, in_words
from chats.agent.provider import ModelRequest

#: How servers report files that they cannot read, or that their model does not accept at all. Mistral's accept none returned by a
#: tool, because no message of a person may follow a result.
ABOUT = re.compile(
    r"image|(?<![a-z])(?:vision|documents?)(?![a-z])|multi-?modal|pdf|\bfiles?\b|content part|after role .?tool",
    re.IGNORECASE,
)
#: Statuses of such refusals. Routers use 404 if none of their models accepts pictures.
STATUSES = frozenset({400, 404, 413, 415, 422})


def refuses_files(request: ModelRequest, status: int, message: str) -> bool:
    """Return whether a refusal is about the files in the request."""
    return (
        status in STATUSES
        and ABOUT.search(message) is not None
        and count_files(request.messages) > 0
    )


def with_fewer_files(sent: ModelRequest, whole: ModelRequest) -> ModelRequest:
    """Return the request to send after `sent` was refused for its files: first without the last message's, then with none."""
    *before, last = whole.messages
    if sent is whole and count_files([last]):
        return replace(whole, messages=[*before, in_words(last)])
    return replace(whole, messages=[in_words(message) for message in whole.messages])


def details_of_files(sent: ModelRequest, whole: ModelRequest) -> dict[str, Any]:
    """Return the entry in `stop_details` for left-out files: how many, and whether `all` in the chat were.

    The history leaves them out from then on (`chats.queries.conversations.answered`), so this is reported once.
    """
    if sent is whole:
        return {}
    left = count_files(sent.messages)
    return {
        "files_left_out": {"files": count_files(whole.messages) - left, "all": not left}
    }
