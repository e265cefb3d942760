"""The state of a connection to any channel, in words."""

from __future__ import annotations

from approvals.channels.slack import states as slack
from approvals.channels.teams import states as teams
from approvals.models import ChannelConnection

Kind = ChannelConnection.Kind
STATES = {Kind.SLACK: slack.state_of, Kind.TEAMS: teams.state_of}


def state_of(connection: ChannelConnection) -> str:
    return STATES[Kind(connection.kind)](connection)
