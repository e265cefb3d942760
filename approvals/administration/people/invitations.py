"""Invitation links, signed with Django's password-reset tokens but valid for days, and their mails."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse
from django.utils.http import int_to_base36

from approvals.models import Invitation
from approvals.outbound.mailing import mail_to, send_now

logger = logging.getLogger(__name__)

#: How long an invitation is valid.
VALID_FOR = timedelta(days=7)


class _Tokens(PasswordResetTokenGenerator):
    """Tokens of one invitation, invalid after the person sets a password or logs in, or after a new invitation."""

    #: The former path of this class. Another value would invalidate links that were already mailed.
    key_salt = "approvals.access.invitations"

    def __init__(self, invitation: Invitation) -> None:
        super().__init__()
        self._invitation = invitation

    def _now(self) -> datetime:
        # Django's time limit for password resets does not apply: `expires_at` does.
        return self._invitation.sent_at.replace(tzinfo=None)

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{self._invitation.sent_at.isoformat()}"


def invitation_link(invitation: Invitation) -> str:
    """Return the address of the page on which the invited person chooses a password."""
    person = invitation.person
    named = {
        "uidb36": int_to_base36(person.pk),
        "key": _Tokens(invitation).make_token(person),
    }
    return settings.PUBLIC_URL + reverse(
        "account_reset_password_from_key", kwargs=named
    )


def is_invited(person: User, token: str) -> bool:
    """Return whether the token belongs to the person's invitation and has not expired."""
    invitation = Invitation.objects.filter(
        person=person, person__is_active=True
    ).first()
    return (
        invitation is not None
        and not invitation.expired
        and _Tokens(invitation).check_token(person, token)
    )


def mail_invitation(invitation: Invitation) -> bool:
    """Mail the invitation link, waiting for the mail server; return whether it accepted the mail."""
    mail = mail_to(
        invitation.person.email,
        "invitation",
        name=invitation.person.get_username(),
        by=invitation.invited_by,
        link=invitation_link(invitation),
        days=VALID_FOR.days,
    )
    try:
        send_now(mail)
    except (OSError, ValueError):
        logger.exception(
            "The invitation of %r was not mailed", invitation.person.get_username()
        )
        return False
    return True
