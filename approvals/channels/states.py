"""The state of a connection to any channel, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from approvals.channels.relay import states as relay
from approvals.channels.slack import states as slack
from approvals.channels.teams import states as teams
from approvals.models import ChannelConnection

Kind = ChannelConnection.Kind


class ChannelStates(Protocol):
    """The words of one kind of channel."""

    def words_of(self, code: str) -> str:
        """Return a problem in words."""

    def state_of(self, connection: ChannelConnection) -> str:
        """Return the state of a connection in words."""


STATES: Mapping[str, ChannelStates] = {
    Kind.SLACK: slack,
    Kind.TEAMS: teams,
    Kind.RELAY: relay,
}


def words_of(kind: str, code: str) -> str:
    return STATES[kind].words_of(code)


def state_of(connection: ChannelConnection) -> str:
    return STATES[connection.kind].state_of(connection)
