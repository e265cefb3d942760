"""Revoke API keys."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from approvals.models.keys import ApiKey
from approvals.record import audit


def revoke_key(key_id: int, *, by: User, via: str) -> bool:
    """Revoke a key, on record; False if there is no such key, or it was revoked before."""
    now = timezone.now()
    with transaction.atomic():
        if not ApiKey.objects.filter(pk=key_id, revoked_at=None).update(revoked_at=now):
            return False
        key = ApiKey.objects.select_related("user").get(pk=key_id)
        told = {"name": key.name, "prefix": key.prefix, "user": key.user.get_username()}
        audit.record("key.revoked", audit.Subject(scope=f"key:{key.pk}"), data=told, actor=by, via=via, at=now)
    return True
