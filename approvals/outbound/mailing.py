"""Make mails to people, and send them on a separate thread.

No page waits for the mail server, and response times do not reveal who has an account.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)

#: No out-of-office reply comes back (RFC 3834, and what Exchange reads).
AUTOMATIC = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pausepoint-mail")


def mail_to(address: str, subject: str, body: str) -> EmailMessage:
    """Return a plain text mail of this installation to one address."""
    return EmailMessage(
        subject=subject, body=body, from_email=settings.DEFAULT_FROM_EMAIL, to=[address], headers=AUTOMATIC
    )


def send_later(message: EmailMessage) -> None:
    _thread.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:
        logger.exception("An email about an account was not sent")
