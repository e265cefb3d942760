"""Groups joined during a Redis outage receive messages when Redis is back."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from redis.exceptions import RedisError

from approvals.live.redis_layer import ReconnectingLayer
from tests.support.processes.redis_server import RedisServer, started
from tests.support.processes.server import PATIENCE


@pytest.fixture
def redis():
    server = RedisServer(started().program)
    yield server
    server.remove()


async def test_what_was_subscribed_to_while_redis_was_away_is_heard_when_it_is_back(redis):
    layer = ReconnectingLayer(hosts=[redis.url])
    # One before it goes, and one while it is away: both are heard, and neither raised.
    redis.start()
    early = await layer.new_channel()
    await layer.group_add("news", early)
    redis.stop()
    late = await layer.new_channel()
    await layer.group_add("news", late)
    redis.start()

    async def tell() -> None:
        while True:
            with contextlib.suppress(RedisError):
                await layer.group_send("news", {"type": "news"})
            await asyncio.sleep(0.1)

    telling = asyncio.create_task(tell())
    try:
        async with asyncio.timeout(PATIENCE):
            assert await layer.receive(early) == {"type": "news"}
            assert await layer.receive(late) == {"type": "news"}
    finally:
        telling.cancel()
        await layer.flush()


async def test_a_page_that_closes_while_redis_is_away_is_forgotten_there(redis):
    layer = ReconnectingLayer(hosts=[redis.url])
    redis.start()
    channel = await layer.new_channel()
    await layer.group_add("news", channel)
    redis.stop()
    await layer.group_discard("news", channel)
    redis.start()
    (shard,) = layer._get_layer()._shards
    group = layer._get_layer()._get_group_channel_name("news")
    async with asyncio.timeout(PATIENCE):
        while group in shard._subscribed_to:
            await asyncio.sleep(0.05)
    await layer.flush()
