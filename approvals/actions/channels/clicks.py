"""Store clicks before they are acknowledged, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from approvals.models import (
    ChannelCard,
    ChannelClick,
    ChannelConnection,
    ChannelLinkOffer,
    RelayMessage,
)

#: Rows that are pruned at a time.
BATCH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClick:
    """A verified click with its author and its place. `key` identifies it."""

    key: str
    team_id: str
    external_id: str
    channel_id: str
    message_ts: str
    data: Mapping[str, Any]


def store_click(connection: ChannelConnection, click: NewClick) -> None:
    """Store a click, unless it is there already."""
    row = ChannelClick(
        connection=connection,
        key=click.key,
        team_id=click.team_id,
        external_id=click.external_id,
        channel_id=click.channel_id,
        message_ts=click.message_ts,
        data=dict(click.data),
    )
    ChannelClick.objects.bulk_create([row], ignore_conflicts=True)


def finish_click(
    click: ChannelClick, outcome: str, reply: str = "", *, offers: bool = False
) -> None:
    """Store the outcome of a click and the line that answers it; its values are no longer needed."""
    names = ("action", "request", "name")
    kept = {name: click.data[name] for name in names if name in click.data}
    ChannelClick.objects.filter(pk=click.pk).update(
        done_at=Now(),
        outcome=outcome[:40],
        reply=reply,
        offers=offers,
        data=kept,
        attempts=0,
        next_attempt_at=Now(),
    )


def reply_sent(click: ChannelClick) -> None:
    ChannelClick.objects.filter(pk=click.pk).update(reply="", offers=False)


def old_channel_rows(before: datetime) -> tuple[QuerySet[Any], ...]:
    """Return clicks, finished cards and messages older than this, and links that no longer work."""
    return (
        ChannelClick.objects.filter(done_at__lt=before),
        ChannelCard.objects.filter(reported=True, posted_at__lt=before),
        RelayMessage.objects.filter(ended=True, posted_at__lt=before),
        ChannelLinkOffer.objects.filter(expires_at__lt=timezone.now()),
    )


def prune_channels(before: datetime) -> int:
    """Remove one batch of `old_channel_rows`; return their number."""
    removed = 0
    for rows in old_channel_rows(before):
        ids = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
        removed += rows.model.objects.filter(Q(pk__in=ids)).delete()[0] if ids else 0
    return removed
