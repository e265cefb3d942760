"""Sessions in the database: those of requests, and read for connections that outlive one and tokens that end with a session.

Requests note in memory which sessions they use; the heartbeat of the process stores it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db.models import Exists
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from approvals.access.factors import people_with, stopped
from approvals.crypto import encryption
from approvals.db.many import any_of

SALT = "approvals.sessions"
#: Seconds between two writes of a process about the use of sessions.
STORED_EVERY = 120
#: Maximum number of used sessions kept between two writes.
MOST = 100_000

_used: dict[str, datetime] = {}


class SessionStore(db.SessionStore):
    """Django's, without looking up keys that the database cannot hold."""

    def __init__(self, session_key: str | None = None) -> None:
        # A cookie may contain anything, and PostgreSQL refuses a NUL even in a query.
        possible = (
            session_key is not None and session_key.isascii() and session_key.isalnum()
        )
        super().__init__(session_key if possible else None)


def limit_of(limits: Mapping[str, int], person: User) -> int:
    """Return the strictest of the limits by role that apply to a person; 0 for none."""
    applying = [
        limit
        for role, limit in limits.items()
        if not role or people_with([role]).filter(pk=person.pk).exists()
    ]
    return min(filter(None, applying), default=0)


def note_use(session_key: str) -> None:
    """Note, without a statement, that a session is used now."""
    if session_key in _used or len(_used) < MOST:
        _used[session_key] = timezone.now()


def take_used() -> dict[str, datetime]:
    """Return and forget the sessions used since the last call, with the time of their last use."""
    taken: dict[str, datetime] = {}
    # Popped one at a time, because other threads add sessions meanwhile.
    while _used:
        key, at = _used.popitem()
        taken[key] = at
    return taken


def user_of(session_key: str) -> User | None:
    """Return the active user of a stored session; None after log-out, expiry or a password change."""
    return users_of([session_key]).get(session_key)


def users_of(session_keys: Collection[str]) -> dict[str, User]:
    """Return the users of many sessions by session key, in two queries, without invalid sessions.

    Follows the rules of `django.contrib.auth.get_user`, but writes nothing.
    """
    # Skip malformed keys: a text that the database rejects would fail the query for all the others.
    wanted = {key for key in session_keys if key.isascii() and key.isalnum()}
    stored = Session.objects.filter(
        session_key__in=any_of(wanted, str), expire_date__gt=timezone.now()
    )
    stored_data = {
        key: _decoded(data)
        for key, data in stored.values_list("session_key", "session_data")
    }
    good = {
        key: data
        for key, data in stored_data.items()
        if data.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
    }
    known = {
        key: str(data[SESSION_KEY]) for key, data in good.items() if SESSION_KEY in data
    }
    ids = any_of({int(user_id) for user_id in known.values()}, int)
    users = {
        str(user.pk): user for user in User.objects.filter(pk__in=ids, is_active=True)
    }
    kept_out = stopped({user.pk for user in users.values()})
    candidates = {
        key: users[user_id]
        for key, user_id in known.items()
        if user_id in users and users[user_id].pk not in kept_out
    }
    return {
        key: user
        for key, user in candidates.items()
        if _proves(stored_data[key].get(HASH_SESSION_KEY) or "", user)
    }


@functools.lru_cache(maxsize=1024)
def _decoded(session_data: str) -> dict[str, Any]:
    """Check the signature and return the data. Cached, because it depends on the text alone; callers must not change it."""
    return SessionStore().decode(session_data)


def notice_key(session_key: str) -> str:
    """Return under which key the reason for the end of a session is stored. It does not reveal the key of the session."""
    salt = f"{SALT}.ended"
    return salted_hmac(salt, session_key, algorithm="sha256").hexdigest()[:40]


def why_ended(session_key: str) -> str:
    """Return why a session was ended, in the language of its person; "" if it was not, or long ago."""
    if not (session_key.isascii() and session_key.isalnum()):
        return ""
    stored = Session.objects.filter(
        session_key=notice_key(session_key), expire_date__gt=timezone.now()
    ).first()
    return "" if stored is None else _decoded(stored.session_data).get("ended", "")


def signed_in_at(session: SessionBase) -> datetime | None:
    """Return when the person of this session last authenticated, as recorded by allauth; None if unknown.

    For people with a second factor only the factor counts: a password alone would be the weaker proof.
    """
    stored = session.get("account_authentication_methods")
    records = (
        [each for each in stored if isinstance(each, dict)]
        if isinstance(stored, list)
        else []
    )
    by_factor = [each for each in records if each.get("method") == "mfa"]
    moments = [each.get("at") for each in by_factor or records]
    seconds = [moment for moment in moments if isinstance(moment, int | float)]
    return datetime.fromtimestamp(max(seconds), UTC) if seconds else None


def encrypt_session(session_key: str, user: User) -> str:
    """Return an encrypted reference to a user's session, which does not reveal the session key."""
    named: Any = [session_key, user.get_session_auth_hash()]
    return encryption(SALT).encrypt(json.dumps(named).encode()).decode()


def user_of_encrypted_session(text: str, user_id: int) -> tuple[str, User | None]:
    """Return the key and user of an encrypted session in one query; no user if it ended or the password changed."""
    try:
        session_key, proof = json.loads(encryption(SALT).decrypt(text))
    except InvalidToken:
        return "", None
    alive = Session.objects.filter(
        session_key=session_key, expire_date__gt=timezone.now()
    )
    user = User.objects.filter(Exists(alive), pk=user_id, is_active=True).first()
    return session_key, user if user is not None and _proves(proof, user) else None


def _proves(proof: str, user: User) -> bool:
    """Return whether the password is still the one that the session began with."""
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return any(constant_time_compare(proof, each) for each in hashes)
