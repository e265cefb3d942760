"""Mail the administrators that a change waits for one of them."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import override

from approvals.access.administrators import administrators
from approvals.db.transactions import after_commit
from approvals.models import PendingChange
from approvals.outbound.mailing import mail_to, send_later
from approvals.queries.languages import languages_of
from approvals.text.text import visible


def tell_administrators(change: PendingChange) -> None:
    """Mail everyone else who administers, once the transaction commits; nothing if the same person has requested another change
    within HITL_NOTIFY_INTERVAL that waits, too: one link leads to all of them.

    The mail says nothing of the change itself: people read it where they are logged in.
    """
    if not settings.HITL_MAIL or _told_lately(change):
        return
    others = administrators().filter(is_active=True).exclude(pk=change.requested_by_id)
    people = list(others.exclude(email="").order_by("pk"))
    languages = languages_of([person.pk for person in people])
    for person in people:
        with override(languages[person.pk]):
            after_commit(send_later, _mail(person, change))


def _told_lately(change: PendingChange) -> bool:
    since = change.requested_at - timedelta(seconds=settings.HITL_NOTIFY_INTERVAL)
    others = PendingChange.objects.filter(requested_by=change.requested_by_id, requested_at__gt=since)
    return others.exclude(pk=change.pk).exists()


def _mail(person: User, change: PendingChange) -> EmailMessage:
    context = {
        "by": visible(change.requested_by.get_username()),
        "kind": PendingChange.Kind(change.kind).label,
        "site": settings.PUBLIC_URL,
        "days": PendingChange.VALID_FOR.days,
    }
    body = render_to_string("approvals/administration/changes/waiting.txt", context)
    subject = _("[Pausepoint] A change waits for another administrator")
    return mail_to(person.email, subject, body)
