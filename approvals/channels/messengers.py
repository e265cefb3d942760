"""The kinds of channels in which people answer."""

from __future__ import annotations

from approvals.channels.messenger import Messenger
from approvals.channels.slack.messenger import SlackMessenger
from approvals.channels.teams.messenger import TeamsMessenger
from approvals.models import ChannelConnection

Kind = ChannelConnection.Kind
MESSENGERS: dict[str, Messenger] = {
    Kind.SLACK: SlackMessenger(),
    Kind.TEAMS: TeamsMessenger(),
}
