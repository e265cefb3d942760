"""A desk that is connected to the stand-in of Teams, and people of both who are linked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.channels.teams.issuers import issuers_of
from approvals.models import ChannelAccount, ChannelConnection, ChannelIssuer, NotificationRule
from approvals.models.channels import Shows
from approvals.states import Route
from tests.support.desk.slack import DESK, carry
from tests.support.slack.delivery import by_django
from tests.support.teams import Person, Teams
from tests.support.teams.server import Conversation, Message


@contextmanager
def connected(settings: Any) -> Iterator[Teams]:
    """Run the stand-in, with this process as the connected desk; clicks go to Django's test client."""
    with unconnected(settings) as teams:
        connect(teams)
        yield teams


@contextmanager
def unconnected(settings: Any) -> Iterator[Teams]:
    with Teams(f"{DESK}/api/teams/messages", post=by_django(Client(raise_request_exception=False))) as teams:
        settings.PUBLIC_URL = DESK
        settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
        settings.TEAMS_SERVICE_URL = teams.service
        settings.TEAMS_LOGIN_URL = teams.url
        settings.TEAMS_KEYS_URL = f"{teams.url}keys"
        yield teams


def connect(teams: Teams) -> ChannelConnection:
    connection = ChannelConnection.objects.create(
        kind="teams",
        app_id=teams.app_id,
        team_id=teams.tenant,
        team_name=teams.tenant,
        bot_id=teams.bot_id,
        secret=encrypted(ChannelSecrets(client_secret=teams.client_secret)),
    )
    for issuer, url in issuers_of(teams.tenant).items():
        ChannelIssuer.objects.create(connection=connection, issuer=issuer, keys_url=url)
    return connection


def linked(teams: Teams, user: User) -> Person:
    """Return the person of Teams with this user's name, whose account is linked."""
    person = teams.person(user.username)
    ChannelAccount.objects.create(
        connection=ChannelConnection.objects.get(kind="teams"),
        team_id=teams.tenant,
        external_id=person.id,
        name=user.username,
        user=user,
    )
    return person


def rule_for(
    who: User | Group, channel: Conversation | None = None, shows: str = Shows.INPUT, **more: Any
) -> NotificationRule:
    audience = {"group": who} if isinstance(who, Group) else {"person": who}
    channel_id = channel.id if channel else ""
    return NotificationRule.objects.create(**audience, route=Route.TEAMS, channel_id=channel_id, shows=shows, **more)


def card_in(teams: Teams, channel: Conversation, words: str = "May I?") -> Message:
    """Return the newest card of a channel with these words, after everything due was carried."""
    carry()
    card = teams.message_with(channel, words)
    assert card is not None
    return card
