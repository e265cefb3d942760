"""What a client hands back so that any process of the desk can go on: encrypted, so that no one can read or forge it.

`requestState` is for a call that the client repeats, the id of an event for a stream that it continues after it broke.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cryptography.fernet import InvalidToken

from approvals.crypto import encryption

#: What the key is derived from.
KEY = ("approvals.api.mcp", "request-state")
#: Seconds for which a text can be used, and the characters it can have: it holds ids, a digest and short values.
LASTS, MAX_ENCRYPTED = 86_400, 2000


@dataclass(frozen=True, slots=True)
class CallState:
    """Which request a call waits for, how often it was repeated, and what it takes the decision as."""

    request_id: UUID
    rounds: int
    taker: str


@dataclass(frozen=True, slots=True)
class StreamState:
    """The call that a stream answers: the request it waits for, its tool, its id and its progress token, and its taker."""

    request_id: UUID
    tool: str
    call_id: str | int | None
    progress_token: str | int | None
    taker: str


def encrypt_call(state: CallState, *, scope: str, digest: str) -> str:
    """Return the state as text that only the same client (`scope`) can use, for the same tool and arguments (`digest`)."""
    return _encrypt([str(state.request_id), state.rounds, state.taker, scope, digest])


def decrypt_call(text: str, *, scope: str, digest: str) -> CallState | None:
    """Return what `encrypt_call` was given; None if the text is not ours, too old, or of another client or call."""
    match _decrypt(text):
        case [str(request_id), int(rounds), str(taker), str(of), str(about)] if (of, about) == (scope, digest):
            return CallState(UUID(request_id), rounds, taker)
    return None


def encrypt_stream(state: StreamState, *, scope: str) -> str:
    """Return the id of the events of a stream, which only the same client can use."""
    return _encrypt([str(state.request_id), state.tool, state.call_id, state.progress_token, state.taker, scope])


def decrypt_stream(text: str, *, scope: str) -> StreamState | None:
    """Return what `encrypt_stream` was given; None if the text is not ours, too old, or of another client."""
    match _decrypt(text):
        case [str(request_id), str(tool), call_id, progress_token, str(taker), str(of)] if of == scope:
            return StreamState(UUID(request_id), tool, call_id, progress_token, taker)
    return None


def _encrypt(values: list[Any]) -> str:
    return encryption(*KEY).encrypt(json.dumps(values).encode()).decode()


def _decrypt(text: str) -> Any:
    if len(text) > MAX_ENCRYPTED or not text.isascii():
        return None
    try:
        return json.loads(encryption(*KEY).decrypt(text, ttl=LASTS))
    except InvalidToken:
        return None
