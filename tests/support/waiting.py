"""Clients that wait for a request to end, as seen from the event loop that serves them."""

from __future__ import annotations

import asyncio

from channels.layers import get_channel_layer

from approvals.background import waiting_room
from approvals.live import doorbell, listeners


def waiting_clients() -> int:
    """Return how many clients wait in the room of this event loop."""
    room = waiting_room._rooms.get(asyncio.get_running_loop())
    return 0 if room is None else sum(map(len, room.events.values()))


async def until_clients_wait(count: int = 1) -> None:
    """Wait until so many clients wait, and notifications reach them."""
    while waiting_clients() < count or not get_channel_layer().groups.get(doorbell.DESK):
        await asyncio.sleep(0.01)


async def until_group_is_heard(name: str, count: int = 1) -> None:
    """Wait until so many on this event loop listen to a group, and its messages reach them."""
    while name not in get_channel_layer().groups or _listeners_to(name) < count:
        await asyncio.sleep(0.01)


def _listeners_to(name: str) -> int:
    switchboard = listeners._switchboards.get(asyncio.get_running_loop())
    group = switchboard.groups.get(name) if switchboard else None
    return len(group.handles) if group else 0


async def until_nobody_waits() -> None:
    while waiting_clients():
        await asyncio.sleep(0.01)
