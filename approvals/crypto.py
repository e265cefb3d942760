"""Encrypt texts, and recognize equal ones, with keys derived from SECRET_KEY."""

from __future__ import annotations

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


def encryption(salt: str, value: str = "seal") -> MultiFernet:
    """Return an encryption that uses SECRET_KEY, and the fallbacks to decrypt. Each salt and value gives a different key."""
    return MultiFernet(_keys(salt, value))


def _keys(salt: str, value: str = "seal") -> list[Fernet]:
    # The default value keeps earlier ciphertexts readable.
    derived = (
        salted_hmac(salt, value, secret=key, algorithm="sha256")
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return [Fernet(urlsafe_b64encode(key.digest())) for key in derived]


def renewed(salt: str, text: str) -> str:
    """Return a ciphertext under the current key; unchanged if it is already. Raise InvalidToken if no key can read it."""
    keys = _keys(salt)
    try:
        keys[0].decrypt(text)
    except InvalidToken:
        return MultiFernet(keys).rotate(text).decode()
    return text


def keyed_digests(purpose: str, text: bytes) -> tuple[str, ...]:
    """Return the hexadecimal HMAC-SHA256 of a text with SECRET_KEY, followed by those with each fallback.

    Each purpose has its own keys. Store the first and look for any of them: values stored before SECRET_KEY changed are found as
    long as the former key is a fallback.
    """
    return tuple(
        salted_hmac(purpose, text, secret=key, algorithm="sha256").hexdigest()
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
