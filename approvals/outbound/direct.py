"""Direct messages to one person in a channel: the target, the channel and the lane of their outbox rows."""

from __future__ import annotations

from typing import NamedTuple

from approvals.states import Channel


class Direct(NamedTuple):
    """The way of a direct message to one person."""

    target: str
    channel: Channel
    lane: str


def through_relay(connection_id: int, person_id: int) -> Direct:
    target = f"relay:{connection_id}:{person_id}"
    return Direct(target, Channel.RELAY, lane_of_relay(connection_id))


def lane_of_relay(connection_id: int) -> str:
    return f"relay:{connection_id}"
