"""A worker that is stopped during a database outage ends anyway."""

from __future__ import annotations

import pytest

from tests.support.processes.deployed import new_cluster, site
from tests.support.processes.server import PATIENCE, until
from tests.support.services import real_processes  # noqa: F401 - a fixture


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_worker_ends_though_the_database_is_gone(tmp_path):
    cluster = new_cluster()
    cluster.start()
    with site(tmp_path, DATABASE_URL=cluster.url("site")) as team:
        team.set_up()
        worker = team.start("worker")
        until(lambda: team.rows("SELECT count(*) FROM approvals_worker") == [(1,)], "the worker shows itself")
        cluster.stop()
        until(lambda: "The database is unavailable" in team.said(), "the worker misses its database")
        worker.terminate()
        assert worker.wait(2 * PATIENCE) == 0
    cluster.remove()
