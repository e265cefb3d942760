"""kill -9 while a delegate votes, or while the returned person replaces that vote: one seat, one vote."""

from __future__ import annotations

import http.client
from typing import Any

import pytest

from tests.proofs.crash.test_files_of_requests import PREPARE
from tests.support.machine import Remote, Reply
from tests.support.processes.server import PATIENCE, Server

pytestmark = pytest.mark.crash

#: By point, whether the commit of the vote was before the kill.
POINTS = {"_store": False, "decide": True}
ASK = {"kind": "approval", "title": "Wharfage?", "tool_name": "pay", "input": {"amount": 1}, "agent": "wharfinger"}
#: The demo's approver is away, and the auditor votes for them; only the approver and a second person have seats.
PREPARED = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from approvals.models import Absence, ApprovalRequest
from approvals.policy.terms import Stage, Terms, VoterGroup
owner, delegate = User.objects.get(username="approver"), User.objects.get(username="auditor")
second = User.objects.create_user("second")
for person in (delegate, second):
    person.user_permissions.set(owner.user_permissions.all())
    person.groups.set(owner.groups.all())
group = VoterGroup(people=(owner.pk, second.pk), votes=2)
ApprovalRequest.objects.update(terms=Terms(stages=(Stage(groups=(group,)),)).document())
now = timezone.now()
Absence.objects.create(
    person=owner, delegate=delegate, starts_at=now - timedelta(days=1), until=now + timedelta(days=1),
    set_by_id=owner.pk, set_by_name="approver",
)
"""


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_during_a_vote_for_someone_who_is_away_fills_their_seat_once(point, database, tmp_path):
    control = tmp_path / "control"
    prepare = PREPARE.format(control=str(control), owner="cast" if point == "_store" else "actions", name=point)
    prepare = prepare.replace(
        "from approvals.actions import asking, attachments",
        "from approvals import actions\nfrom approvals.actions.policy.votes import cast",
    )
    with Server(tmp_path, database=database, prepare=prepare) as server:
        agent = Remote(server, "requester", ("ask", "read"))
        asked = agent.send("POST", "/requests", ASK).body
        server.run(PREPARED)
        owner, delegate, second = (
            Remote(server, who, ("decide", "read", "absence")) for who in ("approver", "auditor", "second")
        )

        def vote_twice(voter: Remote) -> None:
            control.write_text("")
            with pytest.raises((http.client.HTTPException, OSError)):
                approve(voter, asked)
            assert server.process is not None
            server.process.wait(PATIENCE)
            server.start()
            voted = [cast[0] for cast in seats(agent, asked)[1]]
            assert (voter.user in voted) is POINTS[point]
            assert approve(voter, asked).status == 200

        vote_twice(delegate)
        assert seats(agent, asked) == ("1 of 2, approver or second missing", [("auditor", "approver", True)])
        (absence,) = owner.send("GET", "/absences").body["items"]
        assert owner.send("POST", f"/absences/{absence['id']}/end", {}).status == 200
        vote_twice(owner)
        # The delegate has no seat now.
        assert approve(delegate, asked).status == 403
        assert seats(agent, asked) == (
            "1 of 2, approver or second missing",
            [("auditor", "approver", False), ("approver", None, True)],
        )
        assert approve(second, asked).body["status"] == "approved"
        counts = "SELECT event, count(*) FROM approvals_auditentry WHERE agent = 'wharfinger' GROUP BY event"
        assert dict(server.rows(counts)) == {"request.created": 1, "request.voted": 3, "request.decided": 1}


def seats(reader: Remote, asked: dict[str, Any]) -> tuple[str, list[tuple[str, str | None, bool]]]:
    """Return the progress of the votes, and of each its key, its seat, and whether it counts."""
    votes = reader.send("GET", f"/requests/{asked['id']}").body["votes"]
    cast = [(each["by"].rpartition(" ")[2], each["on_behalf_of"], each["counts"]) for each in votes["cast"]]
    return votes["progress"], cast


def approve(voter: Remote, asked: dict[str, Any]) -> Reply:
    return voter.send("POST", f"/requests/{asked['id']}/decision", {"verdict": "approve"})
