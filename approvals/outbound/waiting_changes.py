"""Mail administrators about changes that need a second administrator."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils.translation import override

from approvals.access.administrators import administrators
from approvals.db.transactions import after_commit
from approvals.models import PendingChange
from approvals.outbound.mailing import mail_to, send_later
from approvals.queries.preferences import languages_of
from approvals.text.text import visible


def tell_administrators(change: PendingChange) -> None:
    """Mail the other administrators after the commit, unless the same person requested another pending change within
    HITL_NOTIFY_INTERVAL: one link leads to all of them.

    The mail does not describe the change: people have to log in to read it.
    """
    if not settings.HITL_MAIL or _told_lately(change):
        return
    others = administrators().filter(is_active=True).exclude(pk=change.requested_by_id)
    people = list(others.exclude(email="").order_by("pk"))
    languages = languages_of([person.pk for person in people])
    for person in people:
        with override(languages[person.pk]):
            mail = mail_to(
                person.email,
                "waiting_change",
                by=visible(change.requested_by.get_username()),
                kind=PendingChange.Kind(change.kind).label,
                days=PendingChange.VALID_FOR.days,
            )
            after_commit(send_later, mail)


def _told_lately(change: PendingChange) -> bool:
    since = change.requested_at - timedelta(seconds=settings.HITL_NOTIFY_INTERVAL)
    others = PendingChange.objects.filter(
        requested_by=change.requested_by_id, requested_at__gt=since
    )
    return others.exclude(pk=change.pk).exists()
