"""Encrypt texts with a key of their own, derived from SECRET_KEY."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def encryption(salt: str, value: str = "seal") -> MultiFernet:
    """Return what encrypts with SECRET_KEY, and decrypts with it or a fallback. Another salt or value makes another key."""
    # The default value keeps what was encrypted earlier readable.
    derived = (
        salted_hmac(salt, value, secret=key, algorithm="sha256")
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return MultiFernet([Fernet(urlsafe_b64encode(key.digest())) for key in derived])
