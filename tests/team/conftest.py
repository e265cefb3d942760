"""A team's installation for the tests here: two web processes, two workers, PostgreSQL and Redis, all of them real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import redis_server
from tests.deployed import PEOPLE, Site, new_database, site
from tests.server import until


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two web processes (at `ports`) and two workers on a new database."""
    settings = {"DATABASE_URL": new_database(), "REDIS_URL": redis_server.started().url}
    with site(tmp_path_factory.mktemp("team"), **settings) as found:
        found.manage("migrate", "--verbosity", "0")
        found.run(PEOPLE)
        found.serve()
        found.serve()
        found.work()
        found.work()
        until(lambda: found.ready() == (200, []), "the team is ready")
        yield found
