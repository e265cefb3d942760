"""Render mails from templates, and send them.

No page about an account waits for the mail server, so response times do not reveal which accounts exist.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connections
from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

#: These headers prevent out-of-office replies (RFC 3834 and Exchange).
AUTOMATIC = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pausepoint-mail")


def mail_to(address: str, template: str, **values: object) -> EmailMessage:
    """Return a plain text mail to one address. The first line of its template in `approvals/mails` is the subject."""
    values["site"] = settings.PUBLIC_URL
    text = render_to_string(f"approvals/mails/{template}.txt", values)
    subject, _newline, body = text.partition("\n")
    return EmailMessage(
        subject=subject,
        body=body,
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[address],
        headers=AUTOMATIC,
    )


def send_now(message: EmailMessage) -> None:
    """Wait for the mail server, without holding a database connection. Raise OSError or ValueError if it refuses."""
    connections.close_all()
    message.send()


def send_later(message: EmailMessage) -> None:
    _thread.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:
        logger.exception("An email about an account was not sent")
