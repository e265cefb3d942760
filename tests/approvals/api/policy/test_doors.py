"""A grant covers the calls that agents ask about through hooks and MCP, and each is answered at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from approvals.api.mcp import calls
from approvals.models import ApprovalRequest, Decision, Grant
from approvals.states import Audience, Verdict, Width
from approvals.text.times import clock_time
from tests.approvals.actions.policy.granting import approve, in_an_hour, terms
from tests.approvals.api.mcp.agent import REFUND, WRITE, Agent
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, CODEX_BASH, CODEX_PERMISSION, PERMISSION
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


@pytest.fixture
def nothing_waits(monkeypatch) -> None:
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


def grant_the_waiting(by: User, audience: Audience = Audience.AGENT, width: Width = Width.INPUT) -> None:
    approve(ApprovalRequest.objects.get(status="pending"), by, terms(width, audience))


def last_use() -> tuple[str, int | None]:
    return Decision.objects.order_by("-pk").values_list("via", "grant_use")[0]


@pytest.mark.shows("codex", "unasked", "conversation", "told")
@pytest.mark.shows("claude-code", "unasked", "conversation", "told")
@pytest.mark.parametrize(("address", "call"), [(CLAUDE_CODE, BASH), (CODEX, CODEX_BASH)])
def test_a_hook_is_allowed_at_once_for_its_session(address, call):
    agent, decider = Machine(alice()), bob()

    def hook(**changes: Any) -> Any:
        return agent.post(f"{address}?wait=0", call | changes)

    hook()
    grant_the_waiting(decider, Audience.THREAD)
    again = hook(tool_use_id="call_2")
    assert again.headers["pausepoint-status"] == "approved"
    output = again.body["hookSpecificOutput"]
    assert (output["permissionDecision"], output["permissionDecisionReason"]) == (
        "allow",
        "Approved by grant of bob (use 1 of 10).",
    )
    assert last_use() == ("grant", 1)
    # Sent again, it is the same call.
    assert (hook(tool_use_id="call_2").body, last_use()) == (again.body, ("grant", 1))
    other_input = hook(tool_use_id="call_3", tool_input={"command": "rm -rf /"})
    other_session = hook(tool_use_id="call_4", session_id="another")
    assert [reply.headers["pausepoint-status"] for reply in (other_input, other_session)] == ["pending", "pending"]


def test_calls_without_an_id_get_one_use_each():
    agent, decider = Machine(alice()), bob()

    def hook() -> Any:
        return agent.post(f"{CLAUDE_CODE}?wait=0", PERMISSION)

    hook()
    grant_the_waiting(decider)
    # The first repeat takes the person's approval.
    replies = [hook() for _ in range(3)]
    assert [reply.body["hookSpecificOutput"]["decision"]["behavior"] for reply in replies] == ["allow"] * 3
    assert (Grant.objects.get().used, ApprovalRequest.objects.count()) == (2, 3)


#: Claude Code's offers to its own user next to a question: rules for its session.
SUGGESTED = [{"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}]


@pytest.mark.parametrize(
    ("address", "call"), [(CLAUDE_CODE, PERMISSION | {"permission_suggestions": SUGGESTED}), (CODEX, CODEX_PERMISSION)]
)
def test_a_permission_is_granted_for_its_session_and_no_rule_is_left_to_the_agent(address, call):
    agent, decider = Machine(alice()), bob()

    def hook(**changes: Any) -> Any:
        return agent.post(f"{address}?wait=0", call | changes)

    hook()
    grant_the_waiting(decider, Audience.THREAD)
    # The first takes the person's approval. A rule of the agent's own would let later calls run past Pausepoint.
    replies = [hook(), hook()]
    # Codex takes no input here.
    sent = {"updatedInput": call["tool_input"]} if address == CLAUDE_CODE else {}
    allowed = {"behavior": "allow", **sent}
    assert [reply.body["hookSpecificOutput"]["decision"] for reply in replies] == [allowed] * 2
    assert last_use() == ("grant", 1)
    assert hook(session_id="another").headers["pausepoint-status"] == "pending"


def test_a_grant_by_time_is_told_without_a_number_of_uses():
    agent, decider = Machine(alice()), bob()
    agent.post(f"{CLAUDE_CODE}?wait=0", BASH)
    end = in_an_hour()
    approve(ApprovalRequest.objects.get(), decider, terms(audience=Audience.THREAD, until=end))
    reply = agent.post(f"{CLAUDE_CODE}?wait=0", BASH | {"tool_use_id": "call_2"})
    reason = reply.body["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason == f"Approved by grant of bob (use 1 until {clock_time(end)})."


def test_a_grant_by_time_and_uses_is_told_with_both():
    agent, decider = Machine(alice()), bob()
    agent.post(f"{CLAUDE_CODE}?wait=0", BASH)
    end = in_an_hour()
    approve(ApprovalRequest.objects.get(), decider, terms(audience=Audience.THREAD, until=end, uses=10))
    reply = agent.post(f"{CLAUDE_CODE}?wait=0", BASH | {"tool_use_id": "call_2"})
    reason = reply.body["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason == f"Approved by grant of bob (use 1 of 10 until {clock_time(end)})."


@pytest.mark.shows("mcp", "unasked", "told")
@pytest.mark.django_db(transaction=True)
def test_mcp_clients_are_told_at_once(nothing_waits):
    agent, decider = Agent(alice()), bob()
    asked = agent.call("request_approval", REFUND, meta={"claudecode/toolUseId": "toolu_1"}).outcome
    assert asked["status"] == "pending"
    grant_the_waiting(decider, Audience.KEY)
    outcome = agent.call("request_approval", REFUND, meta={"claudecode/toolUseId": "toolu_2"}).outcome
    assert (outcome["status"], outcome["by"], outcome["input"]) == ("approved", "bob", REFUND["input"])
    checked = agent.call("check_request", {"request_id": outcome["request_id"]}).outcome
    grant = {"id": str(Grant.objects.get().pk), "use": 1, "uses": 10}
    assert (outcome["grant"], outcome["message"].partition(".")[0]) == (
        grant,
        "Approved by a grant that a person gave earlier",
    )
    assert (checked, last_use()) == (outcome, ("grant", 1))
    assert "grant" not in agent.call("check_request", {"request_id": asked["request_id"]}).outcome


@pytest.mark.shows("mcp", "conversation")
@pytest.mark.django_db(transaction=True)
def test_a_grant_for_the_conversation_of_an_mcp_client_covers_no_other(nothing_waits):
    agent, decider = Agent(alice()), bob()

    def status(session: str, call: str) -> str:
        meta = {"claudecode/toolUseId": call, "sessionId": session}
        return str(agent.call("request_approval", REFUND, meta=meta).outcome["status"])

    status("s-1", "toolu_1")
    grant_the_waiting(decider, Audience.THREAD)
    assert (status("s-1", "toolu_2"), status("s-2", "toolu_3")) == ("approved", "pending")


@pytest.mark.django_db(transaction=True)
def test_the_permission_prompt_of_claude_code_is_allowed_at_once(nothing_waits):
    agent, decider = Agent(alice()), bob()
    agent.call("permission", WRITE)
    grant_the_waiting(decider)
    again = agent.call("permission", WRITE | {"tool_use_id": "toolu_2"}).value
    assert (again, last_use()) == ({"behavior": "allow", "updatedInput": WRITE["input"]}, ("grant", 1))


def test_a_request_that_is_asked_again_with_its_key_is_the_same_use():
    agent, decider = Machine(alice()), bob()
    body = {"kind": "approval", "title": "Refund?", "tool_name": "refund", "input": {}, "agent": "billing"}
    agent.ask(body)
    grant_the_waiting(decider)
    first = agent.post("/requests", body, idempotency_key="1")
    second = agent.post("/requests", body, idempotency_key="1")
    assert (first.status, second.status, second.replayed) == (201, 200, True)
    assert (first.body == second.body, Grant.objects.get().used) == (True, 1)
    assert agent.get(f"/requests/{first.body['id']}").body == first.body


def test_what_ran_is_bound_to_what_the_grant_covers():
    agent, decider = Machine(alice()), bob()
    body = {"kind": "approval", "title": "Refund?", "tool_name": "refund", "input": {"amount": 5}, "agent": "billing"}
    agent.ask(body)
    grant_the_waiting(decider)
    request = agent.ask(body)
    wrong = agent.post(f"/requests/{request['id']}/result", {"input_digest": f"sha256:{'0' * 64}", "output": 1})
    assert wrong.refusal == (409, "other_input")
    digest = request["decision"]["approved_digest"]
    assert agent.post(f"/requests/{request['id']}/result", {"input_digest": digest, "output": 1}).status == 201
    decision = Decision.objects.get(request_id=request["id"])
    assert (decision.verdict, decision.approved_digest) == (Verdict.APPROVE, digest)
