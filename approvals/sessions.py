"""Sessions as they are stored now, for whoever waits longer than a request lasts."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.http import HttpRequest


def user_of(session_key: str) -> User | None:
    """The active user of a session as it is stored now; None if logged out, expired or the password was changed."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None
