"""Encrypt the states from which frameworks resume their runs, with a key derived from SECRET_KEY."""

from __future__ import annotations

from cryptography.fernet import InvalidToken
from django.utils.translation import gettext_lazy

from approvals.crypto import encryption
from approvals.exceptions import Refusal

SALT = "approvals.resume-state"


class StateUnreadable(Refusal):
    """The stored state was encrypted with a key that is no longer known."""

    code = "state_unreadable"
    status = 409
    sentence = gettext_lazy(
        "The stored state cannot be decrypted: SECRET_KEY has changed. Add the earlier one to SECRET_KEY_FALLBACKS."
    )


class StateErased(Refusal):
    """Retention has erased the state."""

    code = "state_erased"
    status = 410
    sentence = gettext_lazy(
        "The stored state of this request was removed by retention, so it can no longer be resumed."
    )


def encrypt_state(state: str) -> str:
    """Encrypt the state with the current SECRET_KEY."""
    return encryption(SALT).encrypt(state.encode()).decode()


def decrypt_state(sealed: str) -> str:
    """Decrypt the state. Raise StateErased, or StateUnreadable if neither SECRET_KEY nor a fallback can decrypt it."""
    if not sealed:
        raise StateErased
    try:
        return encryption(SALT).decrypt(sealed).decode()
    except InvalidToken as error:
        raise StateUnreadable from error
