"""kill -9 while a grant is used: the call is approved once and the use counted once, or neither has happened."""

from __future__ import annotations

import http.client

import pytest

from tests.proofs.crash.test_files_of_requests import PREPARE
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server

pytestmark = pytest.mark.crash

#: By point, whether the commit of the request and its use was before the kill.
POINTS = {("writes", "use_grant"): False, ("writes", "_write_granted"): False, ("asking", "_ask_until_alone"): True}
ASK = {"kind": "approval", "title": "Wharfage?", "tool_name": "pay", "input": {"amount": 1}, "agent": "billing"}
GRANT = {"covers": "input", "audience": "agent", "uses": 10}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_a_grant_is_used_counts_it_once_or_not_at_all(point, database, tmp_path):
    control, (owner, name) = tmp_path / "control", point
    prepare = PREPARE.format(control=str(control), owner=owner, name=name)
    prepare = prepare.replace("import asking, attachments", "import asking\nfrom approvals.actions.asks import writes")
    with Server(tmp_path, database=database, prepare=prepare) as server:
        agent = Remote(server, "requester", ("ask", "read"))
        approver = Remote(server, "approver", ("decide", "grant", "read"))
        first = agent.send("POST", "/requests", ASK).body
        given = approver.send("POST", f"/requests/{first['id']}/decision", {"verdict": "approve", "grant": GRANT})
        assert given.status == 200, given
        control.write_text("")
        with pytest.raises((http.client.HTTPException, OSError)):
            agent.send("POST", "/requests", ASK, **{"Idempotency-Key": "pay-1"})
        assert server.process is not None
        server.process.wait(PATIENCE)
        server.start()
        assert used(approver) == int(POINTS[point])

        again = agent.send("POST", "/requests", ASK, **{"Idempotency-Key": "pay-1"})
        assert (again.status, again.body["status"]) == (200 if POINTS[point] else 201, "approved")
        assert (again.body["decision"]["grant"]["use"], used(approver)) == (1, 1)
        # Reported once.
        result = {"input_digest": again.body["decision"]["approved_digest"], "output": 1}
        reports = [agent.send("POST", f"/requests/{again.body['id']}/result", result).status for _ in range(2)]
        assert reports == [201, 200]


def used(caller: Remote) -> int:
    [grant] = caller.send("GET", "/grants").body["items"]
    return int(grant["used"])
