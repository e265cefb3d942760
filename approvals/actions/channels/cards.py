"""Store posted cards, and the state of their updates."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Q
from django.db.models.functions import Now

from approvals.db.many import any_of
from approvals.models import (
    Absence,
    ApprovalRequest,
    ChannelCard,
    ChannelConnection,
    RelayMessage,
)
from approvals.models.channels import Shows

#: How long a process owns a claimed card or click; then another one may try. Longer than a call takes.
LEASE = timedelta(seconds=15)
LONGEST_WAIT = timedelta(hours=1)
#: A card that could not be updated this often stays as it is.
MOST_ATTEMPTS = 40


def store_card(
    connection: ChannelConnection,
    request: ApprovalRequest,
    channel_id: str,
    message_ts: str,
    *,
    person: User | None,
    shows: str,
    look: str,
    hidden: bool = False,
) -> None:
    """Store a card that was posted. It is looked at once more, because rights may have changed meanwhile."""
    ChannelCard.objects.get_or_create(
        connection=connection,
        channel_id=channel_id,
        message_ts=message_ts,
        defaults={
            "request": request,
            "person": person,
            "shows": shows,
            "look": look,
            "hidden": hidden,
        },
    )


def adopt_card(
    connection: ChannelConnection,
    request: ApprovalRequest,
    channel_id: str,
    message_ts: str,
) -> None:
    """Store a card that was posted without being stored, because the process ended in between; it is rewritten at once."""
    known = {"channel_id": channel_id, "message_ts": message_ts}
    ChannelCard.objects.get_or_create(
        connection=connection,
        **known,
        defaults={"request": request, "look": "lost"},
    )


def claim(row: Any, lease: timedelta = LEASE) -> bool:
    """Claim a card or a click until the lease ends; return False if another process was faster."""
    mine = type(row).objects.filter(
        pk=row.pk, attempts=row.attempts, next_attempt_at__lte=Now()
    )
    row.attempts += 1
    return bool(mine.update(attempts=F("attempts") + 1, next_attempt_at=Now() + lease))


def card_shown(card: ChannelCard, *, synced_at: datetime, **shown: Any) -> None:
    """Store the present state of a card (`shown`: its columns). It stays due if `look_again` came meanwhile."""
    rows = ChannelCard.objects.filter(pk=card.pk)
    rows.update(**shown)
    rows.filter(attempts=card.attempts).update(
        synced_at=synced_at, attempts=0, next_attempt_at=Now()
    )


def look_again(people: Collection[int] | None = None) -> None:
    """Let the cards be looked at again whose readers may see other requests now than before.

    Of direct messages, these are the cards of these people and of their delegates, or all. Of ended cards, they are those that
    still show content: an ended card that was hidden stays so, and one that shows the title alone keeps it.

    A process that shows a card just now has counted its attempt. That there is none any more tells it that it may have read the
    former rights.
    """
    content = Q(hidden=False) & ~Q(shows=Shows.TITLE)
    shown = ChannelCard.objects.filter(Q(ended=False) | content)
    sent = RelayMessage.objects.all()
    if people is not None:
        absences = Absence.objects.filter(person__in=any_of(people, int))
        delegates = absences.values("delegate")
        concerned = Q(person__in=any_of(people, int)) | Q(person__in=delegates)
        shown = shown.filter(Q(person=None) | concerned)
        readers = Q(account__user__in=any_of(people, int))
        sent = sent.filter(readers | Q(account__user__in=delegates))
    shown.update(synced_at=None, attempts=0)
    sent.update(synced_at=None, attempts=0)


def try_again(row: Any, retry_after: int = 0) -> None:
    """Schedule the next attempt at a card or a click, after a time that doubles each time."""
    wait = min(timedelta(seconds=2 ** min(row.attempts, 12)), LONGEST_WAIT)
    wait = max(wait, timedelta(seconds=min(retry_after, 3600)))
    type(row).objects.filter(pk=row.pk).update(next_attempt_at=Now() + wait)


def give_up(card: ChannelCard) -> None:
    """Leave a card as it is, because its message or its conversation is gone."""
    ChannelCard.objects.filter(pk=card.pk).update(
        ended=True, reported=True, synced_at=Now()
    )
