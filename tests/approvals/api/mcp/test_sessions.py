"""A permission belongs to the session that asked, if the client names it."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.api.mcp import calls
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from tests.approvals.api.mcp.agent import WRITE, Agent
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    monkeypatch.setattr(calls, "PATIENCE", 0.0)


@pytest.mark.parametrize("session", ["s-1", "s" * 200])
def test_a_call_with_the_same_number_in_another_session_is_asked_about_anew(session):
    agent, decider = Agent(alice()), bob()
    numbered = WRITE | {"tool_use_id": "functions.Write:0"}
    agent.call("permission", numbered, meta={"sessionId": session})
    actions.decide(ApprovalRequest.objects.get().pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
    found = [
        agent.call("permission", numbered, meta={"sessionId": named}).value["behavior"] for named in (session, "s-2")
    ]
    assert (found, ApprovalRequest.objects.count()) == (["allow", "deny"], 2)
