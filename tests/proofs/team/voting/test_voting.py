"""Fifty voters at once on twenty requests, over HTTP, against two web processes: the votes are enough once, and one is named."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection
from threading import Barrier
from typing import Any

import pytest

from tests.support.processes.deployed import Site
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

REQUESTS, AT_ONCE = 20, 50
#: Needs two of the voters with an even number, and one with an odd number; prints the keys of all, and the requests.
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
teams = [Team.objects.create(name=name) for name in ("even", "odd")]
keys = []
for number in range({AT_ONCE}):
    user = User.objects.create_user(f"voter{{number}}")
    user.user_permissions.add(may)
    user.groups.add(teams[number % 2])
    keys.append(create_key(user, name="race", scopes=("decide", "read"))[1])
terms = Terms(stages=(Stage(groups=(VoterGroup(teams=(teams[0].pk,), votes=2), VoterGroup(teams=(teams[1].pk,)))),))
owner, asked = User.objects.get(username="requester"), []
for number in range({REQUESTS}):
    workflow = actions.open_workflow(
        owner=owner, scope="key:1", key=f"votes-{{number}}", title="Pay", source="api", agent="till"
    )
    request = actions.request_approval(workflow, Ask(kind=Kind.APPROVAL, title="Pay"), requested_by=owner)
    ApprovalRequest.objects.filter(pk=request.pk).update(terms=terms.document())
    asked.append(str(request.pk))
print(json.dumps([keys, asked]))
"""
STORED = """
import json
from approvals.models import AuditEntry, Decision, Vote
print(json.dumps({
    "votes": [[str(vote.request_id), vote.person_name, vote.counted] for vote in Vote.objects.all()],
    "voted": AuditEntry.objects.filter(event="request.voted").count(),
    "decided": AuditEntry.objects.filter(event="request.decided").count(),
    "decisions": [[str(made.request_id), made.by_name] for made in Decision.objects.filter(request__title="Pay")],
}))
"""


def test_of_fifty_voters_one_gives_the_vote_that_decides_and_the_rest_are_counted_or_told_whose(team: Site):
    keys, asked = json.loads(team.run(PREPARE))
    winners = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for request in asked:
            gate = Barrier(AT_ONCE)
            answers = list(
                pool.map(lambda place, r=request, g=gate: press(team, keys[place], place, r, g), range(AT_ONCE))
            )
            counted = [body for status, body in answers if status == 200]
            (won,) = [body for body in counted if body["status"] == "approved"]
            winners[request] = won["decision"]["by"]
            late = [body for status, body in answers if status != 200]
            assert {(body["code"], body["decision"]["by"]) for body in late} <= {("already_decided", winners[request])}
            assert len(counted) + len(late) == AT_ONCE
            assert len(won["votes"]["cast"]) == len(counted) >= 3
    stored = json.loads(team.run(STORED))
    assert stored["voted"] == len(stored["votes"])
    assert stored["decided"] == REQUESTS
    assert dict(stored["decisions"]) == winners
    for request in asked:
        voters = numbers(name for pk, name, counted in stored["votes"] if pk == request and counted)
        even = sum(number % 2 == 0 for number in voters)
        last = numbers([winners[request]])[0]
        before = [number for number in voters if number != last]
        # They were enough with the last one, and not before.
        assert even >= 2
        assert len(voters) - even >= 1
        assert sum(number % 2 == 0 for number in before) < 2 or not any(number % 2 for number in before)


def numbers(names: Iterable[str]) -> list[int]:
    """Return the numbers of voters, whose keys are recorded as `API key race of voter7`."""
    return [int(name.rpartition("voter")[2]) for name in names]


def press(team: Site, key: str, place: int, request: str, gate: Barrier) -> tuple[int, dict[str, Any]]:
    """Approve over REST at the same moment as all others; again, as clients do, if one has waited too long for the lock."""
    gate.wait(PATIENCE)
    status, found = send(team, key, place, request)
    while status == HTTPStatus.SERVICE_UNAVAILABLE:
        status, found = send(team, key, place, request)
    return status, found


def send(team: Site, key: str, place: int, request: str) -> tuple[int, dict[str, Any]]:
    with closing(HTTPConnection("127.0.0.1", team.ports[place % 2], timeout=PATIENCE)) as connection:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", f"/api/v1/requests/{request}/decision", json.dumps({"verdict": "approve"}), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
