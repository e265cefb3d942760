"""Django's cache in Redis, shared by all processes. While Redis is away, each process uses its own memory.

It holds only the counters of the log-in rate limits.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

#: Seconds before Redis is retried after a failure.
RETRY = 5.0


class JsonSerializer:
    """Replaces pickle, through which anyone with write access to Redis could run code here."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


class FallbackCache(RedisCache):
    """The four operations that rate limits use, with a fallback to memory."""

    #: Shared by the process, because Django creates a cache object per thread.
    _away_until = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._here = LocMemCache("while-redis-is-away", {"max_entries": 100_000})

    def add(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        return self._try(super().add, self._here.add, key, *args, **kwargs)

    def get(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        return self._try(super().get, self._here.get, key, *args, **kwargs)

    def set(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        return self._try(super().set, self._here.set, key, *args, **kwargs)

    def delete(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        return self._try(super().delete, self._here.delete, key, *args, **kwargs)

    def _try(
        self,
        there: Callable[..., Any],
        here: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if time.monotonic() >= FallbackCache._away_until:
            try:
                return there(*args, **kwargs)
            except RedisError as error:
                FallbackCache._away_until = time.monotonic() + RETRY
                logger.warning(
                    "Redis is unavailable (%s); this process counts log-ins on its own.",
                    error,
                )
        return here(*args, **kwargs)
