"""The people behind accounts of a channel."""

from __future__ import annotations

from approvals.models import ChannelAccount, ChannelConnection
from approvals.models.actors import ChannelActor


def account_behind(
    connection: ChannelConnection, team_id: str, external_id: str
) -> ChannelAccount | None:
    """Return the linked account with these ids, and its person; None if it is not linked."""
    rows = ChannelAccount.objects.select_related("user", "connection")
    return rows.filter(
        connection=connection, team_id=team_id, external_id=external_id
    ).first()


def actor_of(account: ChannelAccount) -> ChannelActor:
    return ChannelActor(account.user, account.pk, account.recorded)
