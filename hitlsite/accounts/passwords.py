"""Decide whose passwords count."""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals.access.administrators import break_glass_account
from approvals.http import problem


def takes_password(username: str) -> bool:
    """Return whether this account may log in with a password: with OIDC_ONLY, only the break-glass account."""
    if not settings.OIDC_ONLY:
        return True
    account = break_glass_account()
    return account is not None and account.get_username() == username


def has_password(user: User) -> bool:
    """Return whether this person can log in with a password."""
    return user.has_usable_password() and takes_password(user.get_username())


def refuse_password(request: HttpRequest) -> HttpResponse:
    message = _(
        "Passwords and passkeys are switched off here. Go to the log-in page, and continue with %(name)s."
    ) % {"name": settings.OIDC_NAME}
    return problem(request, HTTPStatus.FORBIDDEN, message, "no_password")
