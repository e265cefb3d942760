"""Which sessions were used lately. Requests only note it in memory; the heartbeat of the process stores it."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

#: Seconds between two writes of one process.
STORED_EVERY = 120
#: More sessions are not kept between two writes.
MOST = 100_000

_used: dict[str, datetime] = {}


def note_session(session_key: str) -> None:
    """Note that a session is used now; without a statement."""
    if session_key in _used or len(_used) < MOST:
        _used[session_key] = timezone.now()


def take_used() -> dict[str, datetime]:
    """Return the sessions that were used since the last call, each with its last use, and forget them."""
    taken: dict[str, datetime] = {}
    # One at a time: other threads note sessions meanwhile.
    while _used:
        key, at = _used.popitem()
        taken[key] = at
    return taken
