"""Fifty calls at once, over HTTP, against two web processes: one wins each decision, one takes each
approval, and a grant approves as many calls as it has uses.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from threading import Barrier
from typing import Any, NamedTuple

import pytest

from tests.support.machine import Remote, Reply
from tests.support.processes.deployed import Site
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

REQUESTS, AT_ONCE, ROUNDS = 20, 50, 4
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
        # Approved calls ran once, rejected ones never.
        "runs": [0] * (REQUESTS - approved) + [1] * approved,
        "turns": ["completed"],
    }


def call(port: int, key: str, method: str, path: str, body: Any = None, **headers: str) -> tuple[HTTPResponse, Any]:
    """Call a web process; again, as clients do, if it has waited too long for a lock."""
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
    while True:
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            document = json.loads(answer.read())
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return answer, document


def press(team: Site, key: str, place: int, request: str, gate: Barrier) -> tuple[int, dict[str, Any]]:
    """Decide over REST at the same moment as all others; even places approve, odd ones reject."""
    body = {"verdict": "reject" if place % 2 else "approve", "comment": f"from {place}"}
    gate.wait(PATIENCE)
    answer, document = call(team.ports[place % 2], key, "POST", f"/api/v1/requests/{request}/decision", body)
    return answer.status, document


@pytest.mark.shows("rest", "expire")
def test_deadlines_are_kept_by_the_workers(team: Site):
    asker = team.run(
        KEYS.replace("range(50)", "range(50, 51)").replace('("decide", "read")', '("ask", "read")')
    ).strip()
    question = {"kind": "question", "title": "Which size?", "timeout": 1, "default_response": "M"}
    _, made = call(team.port, asker, "POST", "/api/v1/requests", question)
    _, ended = call(team.port, asker, "GET", f"/api/v1/requests/{made['id']}?wait=60")
    assert (ended["status"], ended["decision"]["answer"], ended["decision"]["by"]) == ("expired", "M", None)
    assert re.fullmatch("deadline|system", ended["decision"]["via"])


PERMISSION = {
    "session_id": "s-1",
    "prompt_id": "p-1",
    "cwd": "/srv/app",
    "hook_event_name": "PermissionRequest",
    "tool_name": "mcp__bank__pay",
    "tool_input": {"amount": 500},
}


def test_of_fifty_equal_calls_without_ids_one_takes_each_approval(team: Site):
    """Half of them are hooks, half check the request over MCP; the web processes share nothing but the database."""
    keys = KEYS.replace(f"range({AT_ONCE})", "range(100, 102)").replace(
        '("decide", "read")', '("ask", "decide", "read")'
    )
    asker, approver = team.run(keys).split()

    def send(place: int, path: str, body: Any, key: str = asker) -> tuple[str, dict[str, Any]]:
        """Return the page of the request that the answer is about, and the answer."""
        accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        answer, document = call(team.ports[place % 2], key, "POST", path, body, **accept)
        assert answer.status == 200, document
        return answer.headers.get("Pausepoint-Request", ""), document

    def ask_again(place: int, request: str, gate: Barrier) -> tuple[str, str]:
        """Send the call at the same moment as all others; return the request that answered it, and the answer."""
        gate.wait(PATIENCE)
        if is_hook(place):
            page, answer = send(place, "/api/v1/hooks/claude-code?wait=0", PERMISSION)
            return page.rstrip("/").rpartition("/")[2], answer["hookSpecificOutput"]["decision"]["behavior"]
        params = {"name": "check_request", "arguments": {"request_id": request}}
        _, answer = send(place, "/mcp", {"jsonrpc": "2.0", "id": place, "method": "tools/call", "params": params})
        return request, answer["result"]["structuredContent"]["status"]

    waiting, told = [ask_again(0, "", Barrier(1))[0]], []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in range(ROUNDS):
            request, gate = waiting[-1], Barrier(AT_ONCE)
            send(0, f"/api/v1/requests/{request}/decision", {"verdict": "approve"}, approver)
            answers = list(pool.map(lambda place, r=request, g=gate: ask_again(place, r, g), range(AT_ONCE)))
            told.append(Counter(said for about, said in answers if about == request))
            # The hooks that came too late wait for one new request together.
            waiting += {about for about, _ in answers} - {request}
    assert [said["allow"] + said["approved"] for said in told] == [1] * ROUNDS
    checks = sum(not is_hook(place) for place in range(AT_ONCE))
    assert [said["approved"] + said["taken"] for said in told] == [checks] * ROUNDS
    assert len(waiting) == len({*waiting}) == ROUNDS + 1


def is_hook(place: int) -> bool:
    """Whether this call is a hook's; each web process gets both kinds."""
    return place % 4 < 2


GRANT_KEYS = """
from django.contrib.auth.models import User
from approvals.administration.keys.actions import create_key
for name, scopes in (("requester", ("ask", "read")), ("approver", ("decide", "grant", "read"))):
    print(create_key(User.objects.get(username=name), name="race", scopes=scopes)[1])
"""
#: The entries of a grant in the order of the record.
ENTRIES = """
from approvals.models import AuditEntry
print(*AuditEntry.objects.filter(event__startswith="grant.", body__contains="%s").order_by("pk").values_list("event", flat=True))
"""


class Port(NamedTuple):
    """A web process, for a client."""

    port: int


class Callers:
    """A program that asks and a person deciding, each at both web processes."""

    def __init__(self, team: Site) -> None:
        self.team = team
        asker, approver = team.run(GRANT_KEYS).split()
        self.asking, self.deciding = (
            [Remote(Port(port), "", key=key) for port in team.ports]  # type: ignore[arg-type]
            for key in (asker, approver)
        )

    def ask(self, place: int, tool: str) -> str:
        """Ask at one of the web processes; return the status of the request."""
        body = {"kind": "approval", "title": "Pay?", "tool_name": tool, "input": {"amount": 1}, "agent": "billing"}
        asker = self.asking[place % 2]
        answer, document = call(asker.server.port, asker.key, "POST", "/api/v1/requests", body)
        assert answer.status == 201, document
        return str(document["status"])

    def grant(self, tool: str, uses: int) -> dict[str, Any]:
        """Approve a call with a grant; return the grant."""
        self.ask(0, tool)
        [request] = self.deciding[0].send("GET", f"/requests?status=pending&tool={tool}").body["items"]
        terms = {"covers": "input", "audience": "agent", "uses": uses}
        body = {"verdict": "approve", "grant": terms}
        assert self.deciding[0].send("POST", f"/requests/{request['id']}/decision", body).status == 200
        [grant] = self.deciding[0].send("GET", f"/grants?tool={tool}").body["items"]
        return dict(grant)

    def revoke(self, grant: dict[str, Any], place: int = 1) -> Reply:
        return self.deciding[place].send("POST", f"/grants/{grant['id']}/revoke", {})

    def entries(self, grant: dict[str, Any]) -> list[str]:
        return self.team.run(ENTRIES % grant["id"]).split()


def at_once(*works: Callable[[], Any]) -> list[Any]:
    gate = Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        gate.wait(PATIENCE)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begin, works))


def test_fifty_calls_at_two_web_processes_share_ten_uses(team: Site):
    callers = Callers(team)
    grant = callers.grant("pay", 10)
    statuses = at_once(*(lambda place=place: callers.ask(place, "pay") for place in range(AT_ONCE)))
    assert Counter(statuses) == {"approved": 10, "pending": AT_ONCE - 10}
    ended = callers.deciding[1].send("GET", f"/grants/{grant['id']}").body
    assert (ended["used"], ended["ended_why"]) == (10, "used_up")
    assert callers.entries(grant) == ["grant.given", *["grant.used"] * 10, "grant.ended"]


def test_no_call_at_two_web_processes_uses_a_grant_after_it_was_revoked(team: Site):
    callers = Callers(team)
    grant = callers.grant("ship", 1_000)
    asks = [lambda place=place: callers.ask(place, "ship") for place in range(AT_ONCE)]
    *statuses, revoked = at_once(*asks, lambda: callers.revoke(grant))
    assert revoked.status == 200
    assert {callers.ask(place, "ship") for place in range(4)} == {"pending"}
    used = Counter(statuses)["approved"]
    ended = callers.deciding[0].send("GET", f"/grants/{grant['id']}").body
    assert (ended["used"], ended["ended_why"]) == (used, "revoked")
    # Each use was on record before the end, and nothing behind it.
    assert callers.entries(grant) == ["grant.given", *["grant.used"] * used, "grant.revoked"]
