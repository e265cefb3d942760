"""State that a client returns so that any process can continue: encrypted, so that no one can read or forge it.

It is the `requestState` of a repeated call, or the event id with which a client continues a broken stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cryptography.fernet import InvalidToken

from approvals.crypto import encryption

#: Purpose of the derived key.
KEY = ("approvals.api.mcp", "request-state")
#: Lifetime of a text in seconds, and its maximum length: it holds ids, a digest and short values.
LASTS = 86_400
MAX_ENCRYPTED = 2000


@dataclass(frozen=True, slots=True)
class WaitState:
    """The request that a call waits for, its number of repeats, and the identity under which it consumes the decision."""

    request_id: UUID
    rounds: int
    taker: str


@dataclass(frozen=True, slots=True)
class StreamState:
    """The call behind a stream: its request, tool, id, progress token and taker."""

    request_id: UUID
    tool: str
    call_id: str | int | None
    progress_token: str | int | None
    taker: str


def encrypt_call(state: WaitState, *, scope: str, digest: str) -> str:
    """Encrypt the state, for the same client (`scope`), tool and arguments (`digest`) only."""
    return _encrypt([str(state.request_id), state.rounds, state.taker, scope, digest])


def decrypt_call(text: str, *, scope: str, digest: str) -> WaitState | None:
    """Return the state from `encrypt_call`; None if the text is not ours, too old, or of another client or call."""
    match _decrypt(text):
        case [str(request_id), int(rounds), str(taker), str(of), str(about)] if (
            of,
            about,
        ) == (scope, digest):
            return WaitState(UUID(request_id), rounds, taker)
    return None


def encrypt_stream(state: StreamState, *, scope: str) -> str:
    """Return the id of the events of a stream, for the same client only."""
    return _encrypt(
        [
            str(state.request_id),
            state.tool,
            state.call_id,
            state.progress_token,
            state.taker,
            scope,
        ]
    )


def decrypt_stream(text: str, *, scope: str) -> StreamState | None:
    """Return the state from `encrypt_stream`; None if the text is not ours, too old, or of another client."""
    match _decrypt(text):
        case [
            str(request_id),
            str(tool),
            call_id,
            progress_token,
            str(taker),
            str(of),
        ] if of == scope:
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
