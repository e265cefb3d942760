"""API keys of callers: their shape, their scopes, and which one is behind a Bearer token."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import CharField, OuterRef
from django.utils import timezone

from approvals.access.standing import Standing, standing_with, with_standing
from approvals.db.prepared import Parameter, Prepared
from approvals.db.transactions import async_commit
from approvals.models.keys import ApiKey, live

#: The shape of what `create_key` makes.
KEY = re.compile(r"pp_(?P<prefix>[0-9a-f]{8})_[A-Za-z0-9_-]{1,100}")
SCOPES = ("ask", "decide", "read", "audit", "grant", "absence", "advise")
DEFAULT_SCOPES = ("ask", "read")
#: Prefix of the scope of requests that a key has asked; the id of the key follows.
KEY_SCOPE = "key:"
#: Prefix of the scope of requests that someone has asked through the API with the session of a browser.
USER_SCOPE = "user:"
#: How exactly the last use of a key is known.
USE_INTERVAL = timedelta(minutes=1)


_LIVE: Prepared[ApiKey] = Prepared(
    lambda: with_standing(
        ApiKey.objects.select_related("user").filter(live(), prefix=Parameter("prefix", CharField())), OuterRef("user")
    )
)


@dataclass(frozen=True, slots=True)
class LiveKey:
    """A key that works, and the standing of its user."""

    key: ApiKey
    standing: Standing


def find_key(text: str) -> LiveKey | None:
    """Return the live key behind a Bearer token, or None: unknown, revoked, expired, or its user is not active."""
    # A text of another shape is not looked up: it may hold characters that no database accepts.
    shape = KEY.fullmatch(text)
    if shape is None:
        return None
    key = _LIVE.first(prefix=shape["prefix"])
    if key is None or not key.user.is_active or not secrets.compare_digest(key.secret_hash, hash_of(text)):
        return None
    return LiveKey(key, standing_with(key, key.user_id, by_key=True))


def record_use(key: ApiKey) -> None:
    """Store when a key was last used, to the minute: a busy client must not cost one write per request."""
    now = timezone.now()
    if key.last_used_at is not None and now - key.last_used_at <= USE_INTERVAL:
        return
    with transaction.atomic():
        # If this write is lost, the next use of the key stores it again.
        async_commit()
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)


def hash_of(text: str) -> str:
    """Return the hash that is stored of a key. It is a fast one: the secret holds 256 random bits."""
    return hashlib.sha256(text.encode()).hexdigest()
