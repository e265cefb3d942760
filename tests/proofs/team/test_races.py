"""Fifty contrary decisions at once on each of twenty requests, over HTTP, against two web processes: one winner each."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Barrier
from typing import Any

import pytest

from tests.support.processes.deployed import Site
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

REQUESTS, AT_ONCE = 20, 50
KEYS = f"""
from django.contrib.auth.models import Permission, User
from approvals.management.commands.createkey import create_key
may = Permission.objects.get(codename="decide_approvalrequest")
for place in range({AT_ONCE}):
    user = User.objects.create_user(f"decider{{place}}")
    user.user_permissions.add(may)
    print(create_key(user, name="race", scopes=("decide", "read"))[1])
"""
COUNTED = """
import json
from approvals.models import ApprovalRequest, AuditEntry, Decision
from chats.models import ToolCall, Turn
print(json.dumps({
    "decisions": Decision.objects.count(),
    "decided": AuditEntry.objects.filter(event="request.decided").count(),
    "results": AuditEntry.objects.filter(event="tool.result").count(),
    "twice": AuditEntry.objects.filter(event="tool.result", retry_count__gt=0).count(),
    "runs": sorted(ToolCall.objects.values_list("attempt", flat=True)),
    "approved": ApprovalRequest.objects.filter(status="approved").count(),
    "turns": list(Turn.objects.values_list("state", flat=True).distinct().order_by()),
}))
"""


def test_of_fifty_contrary_decisions_one_wins_on_each_of_twenty_requests_and_the_rest_are_told_whose(team: Site):
    keys = team.run(KEYS).split()
    asking = team.person("requester")
    asked = [asking.pause(f"Please refund order {place}, 250 euros") for place in range(REQUESTS)]
    told: list[Counter[str]] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _, request in asked:
            gate = Barrier(AT_ONCE)
            answers = list(
                pool.map(lambda place, r=request, g=gate: press(team, keys[place], place, r, g), range(AT_ONCE))
            )
            (winner,) = [body["decision"]["by"] for status, body in answers if status == 200]
            refusals = [body for status, body in answers if status != 200]
            told.append(Counter((body["code"], body["decision"]["by"] == winner) for body in refusals))
            assert [winner in body["detail"] for body in refusals] == [True] * (AT_ONCE - 1)
    assert told == [Counter({("already_decided", True): AT_ONCE - 1})] * REQUESTS
    for chat, _ in asked:
        team.wait_for_turn(chat, "completed")
    found = json.loads(team.run(COUNTED))
    approved = found.pop("approved")
    assert found == {
        "decisions": REQUESTS,
        "decided": REQUESTS,
        "results": REQUESTS,
        "twice": 0,
        # What was approved ran once, what was rejected never.
        "runs": [0] * (REQUESTS - approved) + [1] * approved,
        "turns": ["completed"],
    }


def press(team: Site, key: str, place: int, request: str, gate: Barrier) -> tuple[int, dict[str, Any]]:
    """Decide over REST at the same moment as all others; even places approve, odd ones reject."""
    connection = HTTPConnection("127.0.0.1", team.ports[place % 2], timeout=PATIENCE)
    body = json.dumps({"verdict": "reject" if place % 2 else "approve", "comment": f"from {place}"})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    gate.wait(PATIENCE)
    connection.request("POST", f"/api/v1/requests/{request}/decision", body, headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return answer.status, found


@pytest.mark.shows("rest", "expire")
def test_deadlines_are_kept_by_the_workers(team: Site):
    asker = team.run(
        KEYS.replace("range(50)", "range(50, 51)").replace('("decide", "read")', '("ask", "read")')
    ).strip()
    connection = HTTPConnection("127.0.0.1", team.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {asker}", "Content-Type": "application/json"}
    asked = json.dumps({"kind": "question", "title": "Which size?", "timeout": 1, "default_response": "M"})
    connection.request("POST", "/api/v1/requests", asked, headers)
    made = json.loads(connection.getresponse().read())
    connection.request("GET", f"/api/v1/requests/{made['id']}?wait=60", headers=headers)
    ended = json.loads(connection.getresponse().read())
    assert (ended["status"], ended["decision"]["answer"], ended["decision"]["by"]) == ("expired", "M", None)
    assert re.fullmatch("deadline|system", ended["decision"]["via"])
