"""Fixtures of the tests with many processes: a Redis of their own, and a team's installation, all of it real."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.support.processes import redis_server
from tests.support.processes.deployed import Site, new_database, site
from tests.support.processes.redis_server import RedisServer
from tests.support.processes.server import until
from tests.support.services import missing


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two web processes (at `ports`) and two workers on a new database."""
    settings = {"DATABASE_URL": new_database(), "REDIS_URL": redis_server.started().url}
    with site(tmp_path_factory.mktemp("team"), **settings) as found:
        found.set_up()
        found.serve()
        found.serve()
        found.work()
        found.work()
        until(lambda: found.ready() == (200, []), "the team is ready")
        yield found


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """A Redis that may be stopped and started again, with channels of its own."""
    program = shutil.which("redis-server")
    if program is None:
        missing("no redis-server", "apt-get install redis-server.")
    server = RedisServer(program)
    server.start()
    yield server
    server.remove()
