"""A real server reports when its database goes away and when it is back."""

from __future__ import annotations

import pytest

from tests.support.processes import redis_server
from tests.support.processes.deployed import new_cluster, site
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_server_says_when_its_database_goes_away_and_when_it_is_back(tmp_path):
    cluster = new_cluster()
    try:
        cluster.start()
        with site(tmp_path, DATABASE_URL=cluster.url("site"), REDIS_URL=redis_server.started().url) as served:

            def metrics_up() -> tuple[int, bool]:
                status, _, body = served.ask("/metrics")
                return status, "\npausepoint_up 1.0\n" in body

            served.set_up()
            served.serve()
            served.work()
            until(lambda: served.ready() == (200, []), "it is ready")
            assert metrics_up() == (200, True)
            cluster.stop()
            until(lambda: served.ready() == (503, ["database: no answer"]), "it says that the database is away")
            until(lambda: metrics_up() == (200, False), "the metrics say so too")
            assert served.ask("/healthz")[::2] == (200, "ok\n")
            cluster.start()
            until(lambda: served.ready() == (200, []), "it is ready again")
            until(lambda: metrics_up() == (200, True), "there are metrics again")
    finally:
        cluster.remove()
