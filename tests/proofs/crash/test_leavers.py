"""kill -9 while an identity provider deactivates someone: everything that they have ends, or nothing does."""

from __future__ import annotations

import contextlib
import http.client
import json
from http.client import HTTPConnection

import pytest

from tests.proofs.crash.test_files_of_requests import PREPARE
from tests.support.desk.scim import PATCH
from tests.support.processes.server import PATIENCE, Server

pytestmark = pytest.mark.crash

#: By point, whether the commit was before the kill.
POINTS = {("actions", "set_active"): False, ("service", "respond"): True}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_between_leaves_no_half_deactivated_person(point, database, tmp_path):
    control, (owner, name) = tmp_path / "control", point
    prepare = PREPARE.format(control=str(control), owner=owner, name=name)
    prepare = prepare.replace(
        "from approvals.actions import asking, attachments",
        "from approvals.administration.scim import actions, service",
    )
    with Server(tmp_path, database=database, prepare=prepare) as server:
        key = server.key("admin", "scim")
        server.key("approver", "read", name="of the leaver")
        server.person("approver")
        number = server.value("SELECT id FROM auth_user WHERE username = 'approver'")
        assert state(server, number) == (True, 1, 1)
        control.write_text("")
        with pytest.raises((http.client.HTTPException, OSError)):
            deactivate(server, key, number)
        assert server.process is not None
        server.process.wait(PATIENCE)
        server.start()
        ended = (False, 0, 0)
        assert state(server, number) == (ended if POINTS[point] else (True, 1, 1))
        assert deactivate(server, key, number) == 204
        assert state(server, number) == ended
        changes = "SELECT count(*) FROM approvals_auditentry WHERE event = 'person.changed' AND via = 'scim'"
        assert server.value(changes) == 1


def deactivate(server: Server, key: str, number: int) -> int:
    body = {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": False}]}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/scim+json"}
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request("PATCH", f"/scim/v2/Users/p{number}", json.dumps(body), headers)
        response = connection.getresponse()
        response.read()
        return response.status


def state(server: Server, number: int) -> tuple[bool, int, int]:
    """Whether the person is active, and how many keys and sessions they have."""
    active = server.value("SELECT is_active FROM auth_user WHERE id = ?", number)
    keys = server.value("SELECT count(*) FROM approvals_apikey WHERE revoked_at IS NULL AND user_id = ?", number)
    sessions = server.value("SELECT count(*) FROM approvals_personsession WHERE person_id = ?", number)
    return bool(active), keys, sessions
