"""Channels' layer on Redis, for a Redis that comes and goes: what was subscribed to meanwhile is heard when it is back."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels_redis.pubsub import RedisPubSubChannelLayer, RedisPubSubLoopLayer, RedisSingleShardConnection
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from approvals.runtime.failures import Trouble

logger = logging.getLogger(__name__)
_away = Trouble(logger, "Redis is away (%s); what is to be heard is subscribed to when it is back.", "Redis is back.")

#: Seconds for making a connection and for a write, and between two tries to make up for what failed.
PATIENCE, MEND = 2.0, 1.0
#: Seconds that it is listened at a stretch; a message ends it at once. channels_redis itself stretches 0.1 s, which costs an idle
#: process more than all else.
LOOK = 1.0
#: What a Redis that is away, starts or hangs comes to here.
GONE = (RedisError, OSError, TimeoutError)


class PatientLayer(RedisPubSubChannelLayer):  # type: ignore[misc]
    """Pages open and close while Redis is away; only what is sent meanwhile is lost, and its sender is told."""

    def _get_layer(self) -> Any:
        layer = super()._get_layer()
        if not isinstance(layer._shards[0], PatientConnection):
            layer._shards = [PatientConnection(shard.host, layer) for shard in layer._shards]
        return layer


class SteadyPubSub(PubSub):
    """One connection, made anew by one task at a time: another that reads meanwhile would take the answers of the greeting."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._greeting = asyncio.Lock()
        self._greeter: asyncio.Task[Any] | None = None
        super().__init__(*args, **kwargs)

    async def connect(self) -> None:
        await self._alone(super().connect)

    async def parse_response(self, *args: Any, **kwargs: Any) -> Any:
        await self.connect()
        return await super().parse_response(*args, **kwargs)

    async def _reconnect(self, *args: Any, **kwargs: Any) -> None:
        if self._greeting.locked():
            # Somebody else has found it broken, too.
            await self.connect()
        else:
            await self._alone(functools.partial(super()._reconnect, *args, **kwargs))

    async def _alone(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it when nobody else does; what it comes to do by itself, to subscribe anew, is a part of it."""
        if self._greeter is asyncio.current_task():
            return await work()
        async with self._greeting:
            self._greeter = asyncio.current_task()
            try:
                await work()
            finally:
                self._greeter = None


class PatientConnection(RedisSingleShardConnection):  # type: ignore[misc]
    """Keeps a list of what is to be heard, and makes Redis agree with it as soon as there is one."""

    def __init__(self, host: dict[str, Any], channel_layer: RedisPubSubLoopLayer) -> None:
        # One try again: the connection may have broken unseen while Redis was started anew.
        retry = Retry(NoBackoff(), 1)
        patience = {"socket_connect_timeout": PATIENCE, "socket_timeout": PATIENCE, "retry": retry}
        super().__init__(patience | host, channel_layer)
        self._wanted: set[str] = set()
        self._mending: asyncio.Task[None] | None = None

    def _ensure_redis(self) -> None:
        super()._ensure_redis()
        if type(self._pubsub) is not SteadyPubSub:
            self._pubsub: Any = SteadyPubSub(self._redis.connection_pool)

    async def subscribe(self, channel: str) -> None:
        self._wanted.add(channel)
        await self._agree_or_mend()

    async def unsubscribe(self, channel: str) -> None:
        self._wanted.discard(channel)
        await self._agree_or_mend()

    async def flush(self) -> None:
        if self._mending is not None:
            self._mending.cancel()
        self._wanted = set()
        await super().flush()

    async def _do_receiving(self) -> None:
        """Channels' own, but no error ends it, and a Redis that is away is no traceback a second."""
        while True:
            try:
                if self._pubsub and self._pubsub.subscribed:
                    self._receive_message(await self._pubsub.get_message(ignore_subscribe_messages=True, timeout=LOOK))
                else:
                    await asyncio.sleep(0.1)
            except GONE:
                # The next try connects again, and subscribes to all that was subscribed to.
                await asyncio.sleep(MEND)
            except Exception:
                logger.exception("A message of Redis is not understood")
                await asyncio.sleep(MEND)

    async def _agree_or_mend(self) -> None:
        # While it is being mended nobody else tries: each try may take its time, and there may be hundreds of pages.
        if self._mending is not None and not self._mending.done():
            return
        try:
            await self._agree()
        except GONE as error:
            _away.met(error)
            self._mending = asyncio.ensure_future(self._mend())

    async def _mend(self) -> None:
        while True:
            await asyncio.sleep(MEND)
            try:
                await self._agree()
            except GONE:
                continue
            _away.passed()
            return

    async def _agree(self) -> None:
        while missing := self._wanted - self._subscribed_to:
            for channel in missing:
                async with asyncio.timeout(PATIENCE):
                    await super().subscribe(channel)
        while surplus := self._subscribed_to - self._wanted:
            for channel in surplus:
                async with asyncio.timeout(PATIENCE):
                    await super().unsubscribe(channel)
