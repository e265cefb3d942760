"""Channels' Redis layer, made to survive outages: groups joined meanwhile are subscribed to when Redis is back."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels_redis.pubsub import (
    RedisPubSubChannelLayer,
    RedisPubSubLoopLayer,
    RedisSingleShardConnection,
)
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from approvals.db.failures import OutageLog

logger = logging.getLogger(__name__)
_away = OutageLog(
    logger,
    "Redis is unavailable (%s); subscriptions resume when it is back.",
    "Redis is available again.",
)

#: Timeouts in seconds for connecting and writing, and the interval between attempts to resubscribe.
TIMEOUT = 2.0
RETRY = 1.0
#: Seconds of one blocking read; a message ends it at once. channels_redis uses 0.1 s, which would be the largest cost of an idle
#: process.
READ_TIMEOUT = 1.0
#: Raised while Redis is away, starting or hanging.
AWAY = (RedisError, OSError, TimeoutError)


class ReconnectingLayer(RedisPubSubChannelLayer):  # type: ignore[misc]
    """Let pages open and close while Redis is away. Messages sent meanwhile are lost, and sending them raises."""

    def _get_layer(self) -> Any:
        layer = super()._get_layer()
        if not isinstance(layer._shards[0], ReconnectingConnection):
            layer._shards = [
                ReconnectingConnection(shard.host, layer) for shard in layer._shards
            ]
        return layer


class SerializedPubSub(PubSub):
    """Let one task at a time reconnect: a concurrent reader would consume the replies of the handshake."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._handshake = asyncio.Lock()
        self._handshaking: asyncio.Task[Any] | None = None
        super().__init__(*args, **kwargs)

    async def connect(self) -> None:
        await self._exclusively(super().connect)

    async def parse_response(self, *args: Any, **kwargs: Any) -> Any:
        await self.connect()
        return await super().parse_response(*args, **kwargs)

    async def _reconnect(self, *args: Any, **kwargs: Any) -> None:
        if self._handshake.locked():
            # Another task is already reconnecting.
            await self.connect()
        else:
            await self._exclusively(
                functools.partial(super()._reconnect, *args, **kwargs)
            )

    async def _exclusively(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` under the lock, which is reentrant for a task: reconnecting also resubscribes."""
        if self._handshaking is asyncio.current_task():
            return await work()
        async with self._handshake:
            self._handshaking = asyncio.current_task()
            try:
                await work()
            finally:
                self._handshaking = None


class ReconnectingConnection(RedisSingleShardConnection):  # type: ignore[misc]
    """Keep the wanted subscriptions, and restore them as soon as Redis responds."""

    def __init__(
        self, host: dict[str, Any], channel_layer: RedisPubSubLoopLayer
    ) -> None:
        # One retry: the connection may have broken unnoticed while Redis was restarted.
        retry = Retry(NoBackoff(), 1)
        timeouts = {
            "socket_connect_timeout": TIMEOUT,
            "socket_timeout": TIMEOUT,
            "retry": retry,
        }
        super().__init__(timeouts | host, channel_layer)
        self._wanted: set[str] = set()
        self._retrying: asyncio.Task[None] | None = None

    def _ensure_redis(self) -> None:
        super()._ensure_redis()
        if type(self._pubsub) is not SerializedPubSub:
            self._pubsub: Any = SerializedPubSub(self._redis.connection_pool)

    async def subscribe(self, channel: str) -> None:
        self._wanted.add(channel)
        await self._sync_or_retry()

    async def unsubscribe(self, channel: str) -> None:
        self._wanted.discard(channel)
        await self._sync_or_retry()

    async def flush(self) -> None:
        if self._retrying is not None:
            self._retrying.cancel()
        self._wanted = set()
        await super().flush()

    async def _do_receiving(self) -> None:
        """Like the base method, but no error ends it, and an outage does not log a traceback every second."""
        while True:
            try:
                if self._pubsub and self._pubsub.subscribed:
                    self._receive_message(
                        await self._pubsub.get_message(
                            ignore_subscribe_messages=True, timeout=READ_TIMEOUT
                        )
                    )
                else:
                    await asyncio.sleep(0.1)
            except AWAY:
                # The next try reconnects and resubscribes.
                await asyncio.sleep(RETRY)
            except Exception:
                logger.exception("A message from Redis could not be processed")
                await asyncio.sleep(RETRY)

    async def _sync_or_retry(self) -> None:
        # Only one task retries: each try may take TIMEOUT seconds, and there may be hundreds of pages.
        if self._retrying is not None and not self._retrying.done():
            return
        try:
            await self._sync()
        except AWAY as error:
            _away.record_failure(error)
            self._retrying = asyncio.ensure_future(self._keep_retrying())

    async def _keep_retrying(self) -> None:
        while True:
            await asyncio.sleep(RETRY)
            try:
                await self._sync()
            except AWAY:
                continue
            _away.record_success()
            return

    async def _sync(self) -> None:
        while missing := self._wanted - self._subscribed_to:
            for channel in missing:
                async with asyncio.timeout(TIMEOUT):
                    await super().subscribe(channel)
        while surplus := self._subscribed_to - self._wanted:
            for channel in surplus:
                async with asyncio.timeout(TIMEOUT):
                    await super().unsubscribe(channel)
