"""Make and revoke API keys, on record."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from approvals.access.keys import DEFAULT_SCOPES, KEY, KEY_SCOPE, hash_of
from approvals.models.keys import ApiKey
from approvals.record import audit
from approvals.runtime.canonical import utc
from approvals.states import Door


def create_key(
    user: User,
    *,
    name: str,
    scopes: tuple[str, ...] = DEFAULT_SCOPES,
    text: str = "",
    expires_at: datetime | None = None,
    by: User | None = None,
    via: str = Door.SYSTEM,
) -> tuple[ApiKey, str]:
    """Make a key, on record; return it with its secret text, which is shown once and never stored.

    `text` is the secret text if it is not to be random.
    """
    text = text or f"pp_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
    shape = KEY.fullmatch(text)
    assert shape is not None, "another shape would never be found"
    with transaction.atomic():
        key = ApiKey.objects.create(
            user=user,
            name=name,
            prefix=shape["prefix"],
            secret_hash=hash_of(text),
            scopes=list(scopes),
            expires_at=expires_at,
        )
        data = _described(key) | {"scopes": key.scopes} | ({"expires_at": utc(expires_at)} if expires_at else {})
        audit.record("key.created", _subject(key), data=data, actor=by, via=via, at=key.created_at)
    return key, text


def revoke_key(key_id: int, *, by: User, via: str) -> bool:
    """Revoke a key, on record; return False if there is no such key, or it was revoked before."""
    now = timezone.now()
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key_id, revoked_at=None).update(revoked_at=now):
            return False
        key = ApiKey.objects.select_related("user").get(pk=key_id)
        audit.record("key.revoked", _subject(key), data=_described(key), actor=by, via=via, at=now)
    return True


def _described(key: ApiKey) -> dict[str, object]:
    return {"name": key.name, "prefix": key.prefix, "user": key.user.get_username()}


def _subject(key: ApiKey) -> audit.Subject:
    return audit.Subject(scope=f"{KEY_SCOPE}{key.pk}")
