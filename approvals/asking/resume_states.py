"""Encrypt the states that frameworks continue their runs from, with a key derived from SECRET_KEY."""

from __future__ import annotations

from cryptography.fernet import InvalidToken
from django.utils.translation import gettext as _

from approvals.crypto import encryption
from approvals.exceptions import Refusal

SALT = "approvals.resume-state"


class StateUnreadable(Refusal):
    """The stored state was encrypted with a key that is no longer known."""

    code = "state_unreadable"
    status = 409

    def __init__(self) -> None:
        super().__init__(
            _(
                "The stored state cannot be decrypted: SECRET_KEY has changed. Add the earlier one to SECRET_KEY_FALLBACKS."
            )
        )


class StateErased(Refusal):
    """The state was there, and retention has erased it."""

    code = "state_erased"
    status = 410

    def __init__(self) -> None:
        super().__init__(_("Retention has erased the stored state of this request, so it can no longer be resumed."))


def encrypt_state(state: str) -> str:
    """Return the state encrypted with the present SECRET_KEY."""
    return encryption(SALT).encrypt(state.encode()).decode()


def decrypt_state(sealed: str) -> str:
    """Return the state. Raises StateErased, and StateUnreadable if neither SECRET_KEY nor a fallback has encrypted it."""
    if not sealed:
        raise StateErased
    try:
        return encryption(SALT).decrypt(sealed).decode()
    except InvalidToken as error:
        raise StateUnreadable from error
