"""Files that a model refuses: left out of what it is sent, so that the chat goes on. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from chats.agent.files import count_files, in_words
from chats.agent.provider import ModelRequest

#: How servers speak of files that they cannot read, or that their model does not take at all. Mistral's take none that a
#: tool returned, because no message of a person may follow a result.
ABOUT = re.compile(
    r"image|(?<![a-z])(?:vision|documents?)(?![a-z])|multi-?modal|pdf|\bfiles?\b|content part|after role .?tool",
    re.IGNORECASE,
)
#: Statuses of such refusals. Routers say 404 if no model of theirs takes pictures.
STATUSES = frozenset({400, 404, 413, 415, 422})


def refuses_files(request: ModelRequest, status: int, message: str) -> bool:
    """Return whether a refusal is about the files in the request."""
    return status in STATUSES and ABOUT.search(message) is not None and count_files(request.messages) > 0


def with_fewer_files(sent: ModelRequest, whole: ModelRequest) -> ModelRequest:
    """Return what to send after the files in `sent` were refused: first without those of the last message, then without any."""
    *before, last = whole.messages
    if sent is whole and count_files([last]):
        return replace(whole, messages=[*before, in_words(last)])
    return replace(whole, messages=[in_words(message) for message in whole.messages])


def details_of_files(sent: ModelRequest, whole: ModelRequest) -> dict[str, Any]:
    """Return what `stop_details` says of files that were left out: how many, and whether `all` in the chat were.

    The history leaves them out from then on (`chats.queries.projection.answered`), so this is said once.
    """
    if sent is whole:
        return {}
    left = count_files(sent.messages)
    return {"files_left_out": {"files": count_files(whole.messages) - left, "all": not left}}
