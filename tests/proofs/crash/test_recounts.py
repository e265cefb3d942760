"""kill -9 while votes are counted anew: every request whose votes are in ends, once, by whichever sweep is left."""

from __future__ import annotations

import pytest

from tests.proofs.crash.test_files_of_requests import PREPARE
from tests.proofs.crash.test_votes import NEEDS_TWO, approve
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server, until

pytestmark = pytest.mark.crash

REQUESTS = 3
ASK = {"kind": "approval", "title": "Wharfage?", "tool_name": "pay", "input": {"amount": 1}, "agent": "wharfinger"}
#: The process dies once, after one of these: a batch was counted, a request was ended, the progress of the count was stored.
POINTS = ("_begin", "_count_next", "_settle", "_mark")
#: Someone who has voted may not decide any more; and then may again, which has everything counted anew.
LOSE = """
from django.contrib.auth.models import Group, User
User.objects.get(username="approver").groups.clear()
User.objects.get(username="approver").user_permissions.clear()
"""
REGAIN = """
from django.contrib.auth.models import User
from approvals.actions.policy.votes.recount import ask_for_recount
first, second = User.objects.get(username="approver"), User.objects.get(username="auditor")
first.user_permissions.set(second.user_permissions.all())
first.groups.set(second.groups.all())
ask_for_recount()
"""


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_in_a_count_loses_no_outcome_and_makes_none_twice(point, database, tmp_path):
    control = tmp_path / "control"
    prepare = PREPARE.format(control=str(control), owner="recount", name=point)
    prepare = prepare.replace(
        "from approvals.actions import asking, attachments", "from approvals.actions.policy.votes import recount"
    )
    with Server(tmp_path, database=database, prepare=prepare) as server:
        agent = Remote(server, "requester", ("ask", "read"))
        first, second = (Remote(server, who, ("decide", "read")) for who in ("approver", "auditor"))
        asked = [agent.send("POST", "/requests", ASK).body for _ in range(REQUESTS)]
        server.run(NEEDS_TWO)
        for each in asked:
            approve(first, each)
        server.run(LOSE)
        assert [approve(second, each).body["votes"]["progress"] for each in asked] == ["1 of 2"] * REQUESTS
        control.write_text("")
        server.run(REGAIN)
        assert server.process is not None
        server.process.wait(PATIENCE)
        server.start()
        ended = "SELECT count(*) FROM approvals_approvalrequest WHERE agent = 'wharfinger' AND status = 'approved'"
        until(lambda: server.rows(ended) == [(REQUESTS,)], "every request ends")
        until(lambda: server.rows("SELECT count(*) FROM approvals_voterecount") == [(0,)], "the count is done")
        counts = "SELECT event, count(*) FROM approvals_auditentry WHERE agent = 'wharfinger' GROUP BY event"
        assert dict(server.rows(counts)) == {
            "request.created": REQUESTS,
            "request.voted": 2 * REQUESTS,
            "request.decided": REQUESTS,
        }
