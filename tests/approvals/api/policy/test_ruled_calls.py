"""Decisions by rules, over every protocol: programs are told at once, and a denial has its message."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.api.mcp import calls
from approvals.background.sweep import expire_due_requests
from approvals.models import ApprovalRequest, Workflow
from approvals.states import Status
from tests.approvals.api.mcp.agent import REFUND, WRITE, Agent
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, CODEX_BASH
from tests.support.desk.requests import PAST
from tests.support.desk.ruling import apply_policy
from tests.support.machine import Machine
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

ALLOW = {"name": "Small", "then": "allow"}
DENY = {"name": "Never", "then": "deny", "message": "Ask finance."}
HALT = {"name": "Stop", "then": "ask", "ask": {"deadline": {"after": 600, "then": "halt"}}}


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


def pass_deadline() -> None:
    ApprovalRequest.objects.filter(status=Status.PENDING).update(deadline_at=PAST)
    expire_due_requests()


@pytest.mark.shows("rest", "allowed", "denied")
@pytest.mark.parametrize(
    ("rule", "status", "comment"), [(ALLOW, "approved", ""), (DENY, "rejected", "Ask finance.")], ids=["allow", "deny"]
)
def test_a_program_that_asks_over_rest_is_told_at_once_and_by_which_rule(rule, status, comment):
    apply_policy(rule)
    asked = Machine(alice()).ask()
    made = asked["decision"]
    assert (asked["status"], made["comment"], made["by"], made["via"]) == (status, comment, None, "rule")
    assert made["rule"] == {"name": rule["name"], "policy_version": 1}
    assert made["approved_input"] == (asked["input"] if rule is ALLOW else None)


@pytest.mark.shows("mcp", "allowed", "denied")
@pytest.mark.parametrize(
    ("rule", "status", "message"),
    [
        (
            ALLOW,
            "approved",
            "Allowed by a rule of the policy. Run it with exactly this input, then call report_result.",
        ),
        (DENY, "rejected", "A rule of the policy denies this. Do not run it, and do not ask for the same again."),
    ],
    ids=["allow", "deny"],
)
def test_a_model_that_asks_over_mcp_is_told_at_once(rule, status, message):
    apply_policy(rule)
    outcome = Agent(alice()).call("request_approval", REFUND).outcome
    assert (outcome["status"], outcome["message"], outcome["rule"]["name"]) == (status, message, rule["name"])
    assert (outcome.get("comment"), outcome.get("input")) == (
        (None, REFUND["input"]) if rule is ALLOW else ("Ask finance.", None)
    )


def test_a_permission_prompt_is_answered_at_once():
    apply_policy(ALLOW)
    agent = Agent(alice())
    assert agent.call("permission", WRITE).value == {"behavior": "allow", "updatedInput": WRITE["input"]}
    apply_policy(DENY)
    denied = agent.call("permission", WRITE | {"tool_use_id": "toolu_2"}).value
    assert denied == {"behavior": "deny", "message": "The policy denies this: Ask finance."}


def hook(address: str, body: dict[str, Any]) -> tuple[str, str]:
    output = Machine(alice()).post(f"{address}?wait=0", body).body["hookSpecificOutput"]
    return output["permissionDecision"], output["permissionDecisionReason"]


@pytest.mark.shows("codex", "allowed", "denied")
@pytest.mark.shows("claude-code", "allowed", "denied")
@pytest.mark.parametrize(("address", "body"), [(CLAUDE_CODE, BASH), (CODEX, CODEX_BASH)])
@pytest.mark.parametrize(
    ("rule", "heard"),
    [
        (ALLOW, ("allow", "Approved by Pausepoint.")),
        (DENY, ("deny", "The policy denies this call: Ask finance. Do not repeat it.")),
    ],
    ids=["allow", "deny"],
)
def test_a_hook_is_answered_at_once(rule, heard, address, body):
    apply_policy(rule)
    assert hook(address, body) == heard


@pytest.mark.shows("ask-human", "halted")
def test_a_question_of_agentforge_that_stops_the_run_says_so_and_ends_its_workflow():
    apply_policy(HALT)
    agent = Machine(alice())
    asked = agent.post("/ask-human", {"question": "Which?", "timeout": 60_000, "defaultResponse": "blue"}).body
    pass_deadline()
    refused = agent.get(f"/ask-human/{asked['requestId']}")
    assert (refused.refusal, refused.body["halted"]) == ((410, "expired"), True)
    assert Workflow.objects.get().state == "cancelled"
