"""All listeners of an event loop share one channel, and none leaves anything behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from channels.layers import InMemoryChannelLayer

from approvals.live import doorbell, listeners

MANY = 50


class Layer(InMemoryChannelLayer):
    """Django Channels' layer in memory, which counts its channels, and joins groups only while it `answers`."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()

    async def new_channel(self, prefix: str = "specific.") -> str:
        self.made.append(await super().new_channel(prefix))
        return self.made[-1]

    async def group_add(self, group: str, channel: str) -> None:
        await self.answers.wait()
        await super().group_add(group, channel)


@pytest.fixture
def layer(monkeypatch) -> Iterator[Layer]:
    made = Layer()
    monkeypatch.setattr(listeners, "get_channel_layer", lambda: made)
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: made)
    return made


async def settled() -> None:
    """Wait until the channel is dropped."""
    async with asyncio.timeout(60):
        while asyncio.get_running_loop() in listeners._switchboards:
            await asyncio.sleep(0)


async def test_listeners_share_one_channel_and_get_the_messages_of_their_groups(layer):
    heard: list[tuple[str, int]] = []
    subscriptions = [
        listeners.Subscription(lambda message, n=n: heard.append((message["type"], n))) for n in range(MANY)
    ]
    ready = [event for n, each in enumerate(subscriptions) for event in each.join(["all", f"user.{n}"])]
    await listeners.wait_until_ready(*ready)
    await doorbell.send("user.7", {"type": "one"})
    await doorbell.send("all", {"type": "every"})
    async with asyncio.timeout(60):
        while len(heard) < MANY + 1:
            await asyncio.sleep(0)
    assert heard == [("one", 7), *(("every", n) for n in range(MANY))]
    assert len(layer.made) == 1
    for each in subscriptions:
        each.leave()
    await settled()
    assert (layer.groups, layer.channels) == ({}, {})


async def test_a_follower_that_leaves_while_the_channel_layer_hangs_leaves_nothing(layer, monkeypatch):
    monkeypatch.setattr(listeners, "RETRY", 0.01)
    layer.answers.clear()

    async def follow(number: int) -> None:
        async with listeners.subscribe("all", f"user.{number}"):
            await asyncio.get_running_loop().create_future()

    following = [asyncio.create_task(follow(number)) for number in range(MANY)]
    await asyncio.sleep(0)
    for each in following:
        each.cancel()
    await asyncio.wait(following)
    layer.answers.set()
    await settled()
    assert (len(layer.made), layer.groups, layer.channels) == (1, {}, {})


async def test_a_listener_that_comes_back_is_subscribed_again(layer):
    for _ in range(3):
        async with listeners.subscribe("all") as notifications:
            await doorbell.send("all", {"type": "news"})
            async with asyncio.timeout(60):
                await notifications.wait(60)
    await settled()
    assert layer.groups == {}


async def test_an_error_of_one_listener_does_not_affect_the_others(layer, caplog):
    heard: list[str] = []

    def fail(message: object) -> None:
        raise RuntimeError("a bug")

    broken, sound = listeners.Subscription(fail), listeners.Subscription(lambda message: heard.append(message["type"]))
    await listeners.wait_until_ready(*broken.join(["all"]), *sound.join(["all"]))
    for number in range(2):
        await doorbell.send("all", {"type": f"message-{number}"})
    async with asyncio.timeout(60):
        while len(heard) < 2:
            await asyncio.sleep(0)
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    broken.leave()
    sound.leave()
    await settled()
