"""The state of a relay in words, with what to do."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.models import ChannelConnection


def words_of(code: str) -> str:
    """Return in words why a relay did not take a message: its status, or why it was not reached."""
    if code == "secret_key_changed":
        return _(
            "SECRET_KEY has changed, so the secret cannot be read. Create a new one."
        )
    if code in {"401", "403"}:
        return _(
            "The relay refuses the signature. Create a new secret, and give it to the relay."
        )
    if code == "410":
        return _("The relay does not know this account.")
    if code.isdecimal():
        return _("The relay answered %(status)s. Look at its log.") % {"status": code}
    return _("The relay could not be reached: %(reason)s.") % {"reason": code}


def state_of(connection: ChannelConnection) -> str:
    """Return the state of a relay in words."""
    return words_of(connection.problem) if connection.problem else _("Connected")
