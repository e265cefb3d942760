"""Notifications leave in few tasks, and only to groups that may have listeners."""

from __future__ import annotations

import asyncio
from typing import Any

from channels.layers import InMemoryChannelLayer

from approvals.live import doorbell


async def tasks_of_three_notifications(monkeypatch, layer: Any) -> int:
    """Return how many tasks send three notifications to the group `desk` that were given at the same moment."""
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: layer)
    doorbell.use_loop(asyncio.get_running_loop())
    before = asyncio.all_tasks()
    for number in range(3):
        doorbell.notify({doorbell.DESK}, {"type": "told", "number": number})
    await asyncio.sleep(0)
    started = asyncio.all_tasks() - before
    if started:
        await asyncio.wait(started)
    return len(started)


async def test_notifications_of_one_moment_leave_in_one_task_and_in_order(monkeypatch):
    layer = InMemoryChannelLayer()
    channel = await layer.new_channel()
    await layer.group_add(doorbell.DESK, channel)
    assert await tasks_of_three_notifications(monkeypatch, layer) == 1
    assert [(await layer.receive(channel))["number"] for _ in range(3)] == [0, 1, 2]
    assert await tasks_of_three_notifications(monkeypatch, layer) == 1


async def test_nothing_is_sent_to_a_group_in_memory_that_nobody_has_joined(monkeypatch):
    layer = InMemoryChannelLayer()
    assert await tasks_of_three_notifications(monkeypatch, layer) == 0
    await layer.group_add(doorbell.DESK, channel := await layer.new_channel())
    await layer.group_discard(doorbell.DESK, channel)
    assert await tasks_of_three_notifications(monkeypatch, layer) == 0


async def test_a_layer_that_other_processes_listen_on_gets_everything(monkeypatch):
    class Shared:
        """A layer that knows no listener of other processes, as that of Redis."""

        sent = 0

        async def group_send(self, group: str, message: dict[str, Any]) -> None:
            self.sent += 1

    layer = Shared()
    assert (await tasks_of_three_notifications(monkeypatch, layer), layer.sent) == (1, 3)
