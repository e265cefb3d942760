"""Encrypt stored secrets with the current SECRET_KEY, so that they no longer need a former one."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialApp
from cryptography.fernet import InvalidToken
from django.db import transaction

from approvals.access import factors, providers
from approvals.asking import resume_states
from approvals.crypto import renewed
from approvals.models import ChannelConnection, EngineConnection, PendingChange
from approvals.models.resuming import ResumeState

#: The tables with secrets, their column, and the purpose of its key.
STORES: tuple[tuple[Any, str, str], ...] = (
    (Authenticator, "data", factors.SALT),
    (SocialApp, "settings", providers.SALT),
    (PendingChange, "value", providers.SALT),
    (ChannelConnection, "secret", providers.SALT),
    (EngineConnection, "secret", providers.SALT),
    (ResumeState, "sealed", resume_states.SALT),
)
#: The encrypted members of a JSON column.
MEMBERS = ("secret", "seed")


def outdated_secrets() -> list[tuple[Any, str, str]]:
    """Return the rows whose secrets the current key cannot read, each with its column and the purpose of its key."""
    return [
        (row, column, salt)
        for model, column, salt in STORES
        for row in model.objects.iterator()
        if _renewed(row, column, salt) != getattr(row, column)
    ]


def rotate_secrets() -> int:
    """Encrypt all secrets with the current key, and return the number of rows for which no key was found.

    Each row is a transaction of its own, so a run that was interrupted can be repeated.
    """
    for outdated, column, salt in outdated_secrets():
        with transaction.atomic():
            # Its secret may have been replaced or removed meanwhile.
            rows = type(outdated).objects.select_for_update().filter(pk=outdated.pk)
            for row in rows:
                if (value := _renewed(row, column, salt)) is not None:
                    setattr(row, column, value)
                    row.save(update_fields=[column])
    return len(outdated_secrets())


def _renewed(row: Any, column: str, salt: str) -> Any:
    """Return the value of a column with its secrets under the current key; None if no key can read them."""
    stored = getattr(row, column)
    try:
        if isinstance(stored, str):
            return stored and renewed(salt, stored)
        if not isinstance(stored, dict):
            return stored
        secrets = {name: stored[name] for name in MEMBERS if name in stored}
        return stored | {name: renewed(salt, secrets[name]) for name in secrets}
    except InvalidToken:
        return None
