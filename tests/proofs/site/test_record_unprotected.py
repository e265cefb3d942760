"""A server does not start on a record that is not protected."""

from __future__ import annotations

import pytest

from tests.support.processes.deployed import new_database, site

LEAVE_ON = """
from django.db import connection
from approvals.db import append_only
connection.cursor().execute(f"INSERT INTO {append_only.SWITCH} (reason) VALUES ('left by hand')")
"""


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_no_server_and_no_worker_starts(tmp_path, database):
    url = new_database() if database == "postgresql" else f"sqlite:///{tmp_path}/site.sqlite3"
    with site(tmp_path, DATABASE_URL=url) as made:
        made.set_up()
        made.run(LEAVE_ON)
        for command in ["serve"] if database == "sqlite" else ["serve", "worker"]:
            refused = made.manage(command, check=False)
            assert (command, refused.returncode != 0, "approvals.E003" in refused.stderr) == (command, True, True)
