"""The links of invitations, signed with Django's own tokens for new passwords but valid for days, and the mails with them."""

from __future__ import annotations

import logging
import smtplib
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import connections
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import int_to_base36
from django.utils.translation import gettext as _

from approvals.models import Invitation
from approvals.outbound.mailing import mail_to

logger = logging.getLogger(__name__)

#: How long an invitation can be accepted.
VALID_FOR = timedelta(days=7)


class _Tokens(PasswordResetTokenGenerator):
    """Tokens of one invitation: worthless once the person has a password or has logged in, or a new one was sent."""

    #: Where this class was once. Another text would make the links invalid that people have in their mail.
    key_salt = "approvals.access.invitations"

    def __init__(self, invitation: Invitation) -> None:
        super().__init__()
        self._invitation = invitation

    def _now(self) -> datetime:
        # The time limit of passwords does not count: `expires_at` does.
        return self._invitation.sent_at.replace(tzinfo=None)

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{self._invitation.sent_at.isoformat()}"


def invitation_link(invitation: Invitation) -> str:
    """Return the address of the page on which the person chooses a password."""
    person = invitation.person
    named = {"uidb36": int_to_base36(person.pk), "key": _Tokens(invitation).make_token(person)}
    return settings.PUBLIC_URL + reverse("account_reset_password_from_key", kwargs=named)


def is_invited(person: User, token: str) -> bool:
    """Whether the token is that of the person's invitation, which has not expired."""
    invitation = Invitation.objects.filter(person=person, person__is_active=True).first()
    return invitation is not None and not invitation.expired and _Tokens(invitation).check_token(person, token)


def mail_invitation(invitation: Invitation) -> bool:
    """Mail the link of an invitation, and wait for the mail server; whether it took the mail."""
    context = {
        "name": invitation.person.get_username(),
        "by": invitation.invited_by,
        "link": invitation_link(invitation),
        "days": VALID_FOR.days,
        "until": timezone.localtime(invitation.expires_at),
        "site": settings.PUBLIC_URL,
    }
    body = render_to_string("approvals/administration/people/invitation.txt", context)
    mail = mail_to(invitation.person.email, _("[Pausepoint] You are invited"), body)
    # A slow mail server must not keep a connection of the database.
    connections.close_all()
    try:
        mail.send()
    except (OSError, ValueError, smtplib.SMTPException):
        logger.exception("The invitation of %r was not mailed", invitation.person.get_username())
        return False
    return True
