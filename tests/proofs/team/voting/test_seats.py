"""Ten people come back and vote while their delegates vote for them, on two web processes: one seat, one vote."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from threading import Barrier
from typing import Any

import pytest

from tests.support.processes.deployed import Site
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

ROUNDS, AWAY = 5, 10
#: Ten owners of seats with a delegate each, and one more owner, without whom no request is approved; prints all keys, and the
#: requests, which need the votes of all owners.
PREPARE = f"""
import json
from django.contrib.auth.models import Group as Team, Permission, User
from approvals import actions
from approvals.administration.keys.actions import create_key
from approvals.asking.asks import Ask
from approvals.models import ApprovalRequest
from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.states import Kind

may = Permission.objects.get(codename="decide_approvalrequest")
finance = Team.objects.create(name="finance")
keys = {{}}
for name in [f"{{what}}{{number}}" for number in range({AWAY}) for what in ("owner", "delegate")] + ["last"]:
    user = User.objects.create_user(name)
    user.user_permissions.add(may)
    if not name.startswith("delegate"):
        user.groups.add(finance)
    keys[name] = create_key(user, name="race", scopes=("decide", "read", "absence"))[1]
terms = Terms(stages=(Stage(groups=(VoterGroup(teams=(finance.pk,), votes={AWAY} + 1),)),))
requester, asked = User.objects.get(username="requester"), []
for number in range({ROUNDS}):
    workflow = actions.open_workflow(
        owner=requester, scope="key:1", key=f"seats-{{number}}", title="Pay", source="api", agent="till"
    )
    request = actions.request_approval(workflow, Ask(kind=Kind.APPROVAL, title="Pay"), requested_by=requester)
    ApprovalRequest.objects.filter(pk=request.pk).update(terms=terms.document())
    asked.append(str(request.pk))
print(json.dumps([keys, asked]))
"""
STORED = """
import json
from approvals.models import AuditEntry, Decision, Vote
print(json.dumps({
    "counted": [[str(vote.request_id), vote.for_id or vote.person_id] for vote in Vote.objects.filter(counted=True)],
    "votes": Vote.objects.count(),
    "voted": AuditEntry.objects.filter(event="request.voted").count(),
    "decided": Decision.objects.filter(request__title="Pay", verdict="approve").count(),
}))
"""


def test_who_comes_back_and_their_delegate_fill_one_seat_whoever_is_first(team: Site):
    keys, asked = json.loads(team.run(PREPARE))
    with ThreadPoolExecutor(2 * AWAY) as pool:
        for request in asked:
            absences = list(pool.map(lambda number: leave(team, keys, number), range(AWAY)))
            gate = Barrier(2 * AWAY)
            owners = [
                pool.submit(come_back, team, keys[f"owner{n}"], n, request, absences[n], gate) for n in range(AWAY)
            ]
            others = [pool.submit(vote, team, keys[f"delegate{n}"], n + 1, request, gate) for n in range(AWAY)]
            assert [each.result() for each in owners] == [(200, "pending")] * AWAY
            # A delegate was in time, or a returned person has their seat again.
            assert {each.result() for each in others} <= {(200, "pending"), (403, None)}
            votes = call(team, keys["last"], 0, "GET", f"/requests/{request}")[1]["votes"]
            assert votes["progress"] == f"{AWAY} of {AWAY + 1}, finance missing"
            counts = [(each["by"].rpartition(" ")[2], each["on_behalf_of"]) for each in votes["cast"] if each["counts"]]
            assert sorted(counts) == [(f"owner{n}", None) for n in range(AWAY)]
            assert vote(team, keys["last"], 0, request) == (200, "approved")
            # Those of odd numbers have voted and are still away.
            for number in range(1, AWAY, 2):
                assert end(team, keys[f"owner{number}"], number, absences[number]) == 200
    stored = json.loads(team.run(STORED))
    seats = Counter(request for request, _seat in map(tuple, stored["counted"]))
    assert seats == dict.fromkeys(asked, AWAY + 1)
    assert len(set(map(tuple, stored["counted"]))) == len(stored["counted"])
    assert (stored["voted"], stored["decided"]) == (stored["votes"], ROUNDS)


def leave(team: Site, keys: dict[str, str], number: int) -> int:
    """Be away from now on; returns the id of the absence."""
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    body = {"until": until, "delegate": f"delegate{number}"}
    status, absence = call(team, keys[f"owner{number}"], number, "POST", "/absences", body)
    assert status == 201, absence
    return int(absence["id"])


def come_back(team: Site, key: str, number: int, request: str, absence: int, gate: Barrier) -> tuple[int, str | None]:
    """Vote at the same moment as all others: those of even numbers end their absence first, the others vote while away."""
    gate.wait(PATIENCE)
    if number % 2 == 0:
        assert end(team, key, number, absence) == 200
    return vote(team, key, number, request)


def end(team: Site, key: str, number: int, absence: int) -> int:
    return call(team, key, number, "POST", f"/absences/{absence}/end", {})[0]


def vote(team: Site, key: str, number: int, request: str, gate: Barrier | None = None) -> tuple[int, str | None]:
    if gate is not None:
        gate.wait(PATIENCE)
    status, body = call(team, key, number, "POST", f"/requests/{request}/decision", {"verdict": "approve"})
    return status, body["status"] if status == 200 else None


def call(team: Site, key: str, number: int, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    """Call one of the web processes; again, as clients do, if it has waited too long for a lock."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    while True:
        with closing(HTTPConnection("127.0.0.1", team.ports[number % 2], timeout=PATIENCE)) as connection:
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            document = json.loads(answer.read())
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return answer.status, document
