"""A desk that is connected to the stand-in of Slack, and people of both who are linked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client

from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.channels import duties, posting
from approvals.models import ChannelAccount, ChannelCard, ChannelClick, ChannelConnection, NotificationRule
from approvals.models.channels import Shows
from approvals.outbound import notifications
from approvals.outbound.delivery_lanes import DeliveryLanes
from approvals.states import Route
from tests.support.slack import Slack
from tests.support.slack.delivery import by_django
from tests.support.slack.people import Person
from tests.support.slack.workspace import Channel, Message

DESK = "https://desk.example.org"


@contextmanager
def connected(settings: Any) -> Iterator[Slack]:
    """Run the stand-in, with this process as the connected desk; clicks go to Django's test client."""
    with Slack(f"{DESK}/api/slack/interactivity", post=by_django(Client())) as slack:
        settings.PUBLIC_URL = DESK
        settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
        settings.SLACK_API_URL = slack.api
        slack.be_patient()
        connect(slack)
        yield slack


def connect(slack: Slack) -> ChannelConnection:
    workspace = slack.workspace
    secrets = ChannelSecrets(workspace.bot_token, workspace.signing_secret, workspace.app_token)
    return ChannelConnection.objects.create(
        kind="slack",
        app_id=workspace.app_id,
        team_id=workspace.team_id,
        team_name=workspace.team_name,
        bot_id="UBOT",
        secret=encrypted(secrets),
    )


def linked(slack: Slack, user: User) -> Person:
    """Return the person of Slack with this user's name, whose account is linked."""
    person = slack.person(user.username)
    ChannelAccount.objects.create(
        connection=ChannelConnection.objects.get(),
        team_id=slack.workspace.team_id,
        external_id=person.id,
        name=user.username,
        user=user,
    )
    return person


def rule_for(
    who: User | Group, channel: Channel | None = None, shows: str = Shows.INPUT, **more: Any
) -> NotificationRule:
    audience = {"group": who} if isinstance(who, Group) else {"person": who}
    channel_id = channel.id if channel else ""
    return NotificationRule.objects.create(**audience, route=Route.BUTTONS, channel_id=channel_id, shows=shows, **more)


def carry() -> None:
    """Do what is due for Slack now: new cards, stored clicks, and then the calls that follow from them."""
    notifications.spread_due_notices()
    lanes = DeliveryLanes(posting.due_jobs)
    duties.carry_out_clicks()
    lanes.deliver_due()
    assert lanes.idle(30)
    lanes.deliver_due()
    assert lanes.idle(30)


def card_in(slack: Slack, channel: Channel, words: str = "May I?") -> Message:
    """Return the one card of a channel with these words, after everything due was carried."""
    carry()
    card = slack.message_with(channel, words)
    assert card is not None
    return card


def outcomes() -> list[str]:
    return list(ChannelClick.objects.order_by("pk").values_list("outcome", flat=True))


def stored_card(card: Message) -> ChannelCard:
    return ChannelCard.objects.get(message_ts=card.ts)
