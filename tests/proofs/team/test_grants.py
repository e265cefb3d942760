"""Fifty calls at once, over HTTP, against two web processes: a grant approves as many as it has uses, and none after its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, NamedTuple

import pytest

from tests.support.machine import Remote, Reply
from tests.support.processes.deployed import Site
from tests.support.processes.server import PATIENCE
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

AT_ONCE = 50
KEYS = """
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
    """A program that asks and a person who decides, each at both web processes."""

    def __init__(self, team: Site) -> None:
        self.team = team
        asker, approver = team.run(KEYS).split()
        self.asking, self.deciding = (
            [Remote(Port(port), "", key=key) for port in team.ports]  # type: ignore[arg-type]
            for key in (asker, approver)
        )

    def ask(self, place: int, tool: str) -> str:
        """Ask at one of the web processes; return the status of the request."""
        body = {"kind": "approval", "title": "Pay?", "tool_name": tool, "input": {"amount": 1}, "agent": "billing"}
        reply = self.asking[place % 2].send("POST", "/requests", body)
        assert reply.status == 201, reply
        return str(reply.body["status"])

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
