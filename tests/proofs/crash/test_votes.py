"""kill -9 between a vote and the outcome: the vote is stored with the decision that it makes, or neither is."""

from __future__ import annotations

import http.client

import pytest

from tests.proofs.crash.test_files_of_requests import PREPARE
from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE, Server

pytestmark = pytest.mark.crash

#: By point, whether the commit of the vote and its decision was before the kill.
POINTS = {("cast", "_store"): False, ("cast", "end_by_votes"): False, ("actions", "decide"): True}
ASK = {"kind": "approval", "title": "Wharfage?", "tool_name": "pay", "input": {"amount": 1}, "agent": "wharfinger"}
#: Any two; and a decider besides the demo's approver.
NEEDS_TWO = """
from django.contrib.auth.models import User
from approvals.models import ApprovalRequest
from approvals.policy.terms import Stage, Terms, VoterGroup
second, first = User.objects.get(username="auditor"), User.objects.get(username="approver")
second.user_permissions.set(first.user_permissions.all())
second.groups.set(first.groups.all())
ApprovalRequest.objects.update(terms=Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),)).document())
"""


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_between_vote_and_outcome_loses_no_vote_and_counts_none_twice(point, database, tmp_path):
    control, (owner, name) = tmp_path / "control", point
    prepare = PREPARE.format(control=str(control), owner=owner, name=name)
    prepare = prepare.replace(
        "from approvals.actions import asking, attachments",
        "from approvals import actions\nfrom approvals.actions.policy.votes import cast",
    )
    with Server(tmp_path, database=database, prepare=prepare) as server:
        agent = Remote(server, "requester", ("ask", "read"))
        voters = [Remote(server, who, ("decide", "read")) for who in ("approver", "auditor")]
        asked = agent.send("POST", "/requests", ASK).body
        server.run(NEEDS_TWO)
        assert approve(voters[0], asked).body["votes"]["progress"] == "1 of 2"
        control.write_text("")
        with pytest.raises((http.client.HTTPException, OSError)):
            approve(voters[1], asked)
        assert server.process is not None
        server.process.wait(PATIENCE)
        server.start()
        now = agent.send("GET", f"/requests/{asked['id']}").body
        assert (now["status"], len(now["votes"]["cast"])) == (("approved", 2) if POINTS[point] else ("pending", 1))

        again = approve(voters[1], asked)
        assert (again.status, again.body["status"], len(again.body["votes"]["cast"])) == (200, "approved", 2)
        counts = "SELECT event, count(*) FROM approvals_auditentry WHERE agent = 'wharfinger' GROUP BY event"
        assert dict(server.rows(counts)) == {"request.created": 1, "request.voted": 2, "request.decided": 1}


def approve(voter: Remote, asked: dict[str, str]):
    return voter.send("POST", f"/requests/{asked['id']}/decision", {"verdict": "approve"})
