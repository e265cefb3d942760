"""The `requestState` of a call that a client repeats, sealed: any process of the desk can go on, and nobody can forge it."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

#: Seconds for which a state can be used, and the characters it can have: it holds an id, a digest and two short values.
LASTS, MAX_STATE = 86_400, 1000


@dataclass(frozen=True, slots=True)
class CallState:
    """Which request a call waits for, and how often it was repeated."""

    request_id: UUID
    rounds: int


def seal(state: CallState, *, scope: str, digest: str) -> str:
    """Return the state as text that only the same client (`scope`) can use, for the same tool and arguments (`digest`)."""
    return _seals().encrypt(json.dumps([str(state.request_id), state.rounds, scope, digest]).encode()).decode()


def unseal(text: str, *, scope: str, digest: str) -> CallState | None:
    """Return what `seal` was given; None if the text is not ours, too old, or of another client or call."""
    if len(text) > MAX_STATE or not text.isascii():
        return None
    try:
        request_id, rounds, *bound = json.loads(_seals().decrypt(text, ttl=LASTS))
    except InvalidToken:
        return None
    return CallState(UUID(request_id), rounds) if bound == [scope, digest] else None


def _seals() -> MultiFernet:
    """Return the seals of SECRET_KEY and its fallbacks; the first one seals, each opens."""
    return MultiFernet([_seal(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _seal(key: str | bytes) -> Fernet:
    derived = salted_hmac("approvals.api.mcp", "request-state", secret=key, algorithm="sha256")
    return Fernet(urlsafe_b64encode(derived.digest()))
