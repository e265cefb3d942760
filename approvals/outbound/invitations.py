"""Mail invitations."""

from __future__ import annotations

import logging
import smtplib

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connections
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.invitations import VALID_FOR, invitation_link
from approvals.models import Invitation

logger = logging.getLogger(__name__)


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
    mail = EmailMessage(
        subject=_("[Pausepoint] You are invited"),
        body=render_to_string("approvals/settings/invitation.txt", context),
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[invitation.person.email],
    )
    # A slow mail server must not keep a connection of the database.
    connections.close_all()
    try:
        mail.send()
    except (OSError, ValueError, smtplib.SMTPException):
        logger.exception("The invitation of %r was not mailed", invitation.person.get_username())
        return False
    return True
