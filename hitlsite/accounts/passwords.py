"""Decide whose passwords count."""

from __future__ import annotations

from django.conf import settings

from approvals.access.administrators import break_glass_account


def takes_password(username: str) -> bool:
    """Return whether this account may log in with a password: with OIDC_ONLY, only the break-glass account."""
    if not settings.OIDC_ONLY:
        return True
    account = break_glass_account()
    return account is not None and account.get_username() == username
