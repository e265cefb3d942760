"""What the tests of many processes share: a Redis of their own, and a desk with two web processes and two workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.redis_server import RedisServer
from tests.services import missing


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """One that may be stopped and started again; its channels are nobody else's."""
    program = shutil.which("redis-server")
    if program is None:
        missing("no redis-server", "apt-get install redis-server.")
    server = RedisServer(program)
    server.start()
    yield server
    server.remove()
