"""The kinds of channels in which people answer."""

from __future__ import annotations

from approvals.channels.messenger import Messenger
from approvals.channels.slack.messenger import SlackMessenger
from approvals.models import ChannelConnection

MESSENGERS: dict[str, Messenger] = {ChannelConnection.Kind.SLACK: SlackMessenger()}
