"""The policy, absences and deadlines of a real server, put there by a process of its own."""

from __future__ import annotations

import uuid
from typing import Any

from tests.support.processes.server import Server

ALLOW, DENY = {"then": "allow"}, {"then": "deny", "message": "Ask finance."}
HALT = {"then": "ask", "ask": {"deadline": {"after": 600, "then": "halt"}}}
#: The demo's approver and its administrator have to approve.
TWO = {"then": "ask", "ask": {"stages": [{"groups": [{"people": ["approver"]}, {"people": ["admin"]}]}]}}


def ruled_tool(server: Server, rule: dict[str, Any]) -> str:
    """Return the name of a new tool, for whose calls the live policy has this rule and no other."""
    tool = f"pay{uuid.uuid4().hex}"
    apply_rules(server, {"name": "Rule", "match": {"tools": [tool]}, **rule})
    return tool


def apply_rules(server: Server, *rules: dict[str, Any]) -> None:
    """Make these rules the live policy."""
    server.run(f"from tests.support.desk.ruling import apply_policy\napply_policy(*{list(rules)!r})")


def send_away(server: Server, absent: str, delegate: str) -> None:
    """From now on, this person is away and that one decides for them."""
    server.run(
        "from django.contrib.auth.models import User\n"
        "from tests.support.desk.away import away\n"
        f"away(*(User.objects.get(username=name) for name in {[absent, delegate]!r}))"
    )


def send_back(server: Server) -> None:
    """No one is away any more."""
    server.run("from approvals.models import Absence\nAbsence.objects.all().delete()")


def pass_deadline(server: Server, request: str) -> None:
    """Move the deadline of a request into the past; the server ends it."""
    server.run(
        "from approvals.models import ApprovalRequest\n"
        f"ApprovalRequest.objects.filter(pk={request!r}).update(deadline_at='2020-01-01T00:00:00Z')"
    )
