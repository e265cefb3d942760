"""Pages open and close while Redis restarts repeatedly: nothing breaks, and the log has one line."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from approvals.db.failures import OutageLog
from approvals.live import redis_layer
from approvals.live.redis_layer import ReconnectingLayer
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

PAGES, OUTAGES = 30, 3


async def test_subscriptions_and_reading_never_make_the_connection_anew_at_once(redis, caplog, monkeypatch):
    # However long the restarts take, it is one outage.
    log = OutageLog(redis_layer.logger, "Redis is away (%s).", "Redis is back.", clock=lambda: 0.0)
    monkeypatch.setattr(redis_layer, "_away", log)
    layer = ReconnectingLayer(hosts=[redis.url])
    redis.start()

    over = asyncio.Event()

    async def come_and_go(page: int) -> None:
        while not over.is_set():
            channel = await layer.new_channel()
            await layer.group_add(f"page-{page}", channel)
            await asyncio.sleep(0.01)
            await layer.group_discard(f"page-{page}", channel)

    pages = [asyncio.create_task(come_and_go(page)) for page in range(PAGES)]
    for _ in range(OUTAGES):
        await asyncio.sleep(1)
        redis.stop()
        await asyncio.sleep(0.3)
        redis.start()
    await asyncio.sleep(1)
    over.set()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*pages)
    # The client of Redis swallows a cancellation now and then; a second one helps.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2):
            await layer.flush()
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) <= 1
    assert {(record.name, record.exc_info) for record in told} <= {("approvals.live.redis_layer", None)}
