"""Send mail on a separate thread: no page waits for the mail server, and response times do not reveal who has an account."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from django.core.mail import EmailMessage

logger = logging.getLogger(__name__)

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pausepoint-mail")


def send_later(message: EmailMessage) -> None:
    _thread.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:
        logger.exception("An email about an account was not sent")
