"""Encrypt texts, and recognize equal ones, with keys that are derived from SECRET_KEY."""

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


def keyed_digests(purpose: str, text: bytes) -> tuple[str, ...]:
    """Return the HMAC-SHA256 of a text with SECRET_KEY, and then with each fallback, in hexadecimal digits.

    Another purpose makes other keys. Store the first, and look for any of them: what was stored before SECRET_KEY changed is
    found as long as the former key is a fallback.
    """
    return tuple(
        salted_hmac(purpose, text, secret=key, algorithm="sha256").hexdigest()
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
