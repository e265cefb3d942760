"""If no one may decide a request, its requester is told at once, or refused if so configured."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.administration.tools.actions import store_tool_settings
from approvals.api.mcp import calls
from approvals.models import ApprovalRequest, Workflow
from tests.approvals.api.mcp.agent import QUESTION as MCP_QUESTION
from tests.approvals.api.mcp.agent import REFUND, WRITE, Agent
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE
from tests.support.desk.away import away
from tests.support.desk.ruling import apply_policy
from tests.support.desk.scopes import make_scope
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)

ASK_AN_ADMINISTRATOR = "Ask an administrator to check the approver scopes, and who decides for this tool."
SUPERUSERS = f"Only superusers may decide this request. {ASK_AN_ADMINISTRATOR}"
NO_ONE = f"No one may decide this request. {ASK_AN_ADMINISTRATOR}"
FOUR_EYES = {
    "key_fields": [],
    "reason_required": False,
    "min_priority": "",
    "prepared_answers": [],
    "control": "four_eyes",
}


def a_scope_elsewhere(decider: User) -> User:
    """Limit the decider to another tool; return the superuser who did it."""
    root = User.objects.create_superuser("root")
    make_scope(decider, by=root, tools=["payroll"])
    return root


def test_without_scopes_and_four_eyes_nothing_is_read_and_nothing_said():
    agent = Machine(alice())
    agent.ask()
    with CaptureQueriesContext(connection) as statements:
        assert agent.ask()["warnings"] == []
    assert [each["sql"] for each in statements if '"auth_user"."is_superuser" = ' in each["sql"]] == []


def test_who_asks_reads_that_only_superusers_or_no_one_may_decide_until_someone_may():
    agent, decider = Machine(alice()), bob()
    root = a_scope_elsewhere(decider)
    request = agent.ask()
    assert request["warnings"] == [SUPERUSERS]
    assert agent.ask(tool_name="payroll")["warnings"] == []
    assert agent.ask(QUESTION)["warnings"] == []
    make_scope(decider, by=root, tools=["refund"])
    assert agent.get(f"/requests/{request['id']}").body["warnings"] == []
    User.objects.filter(pk=root.pk).update(is_active=False)
    assert agent.ask(tool_name="other")["warnings"] == [NO_ONE]


def test_a_limit_below_the_amount_leaves_no_one_whatever_its_sign():
    agent, decider = Machine(alice()), bob()
    make_scope(decider, by=User.objects.create_superuser("root"), limit=100, tools=["refund"])
    asked = {amount: agent.ask(input={"amount": amount})["warnings"] for amount in (100, 101, -100, -101)}
    assert asked == {100: [], 101: [SUPERUSERS], -100: [], -101: [SUPERUSERS]}


def test_four_eyes_leave_no_one_if_the_only_approver_asks():
    both = make_person("hal", "decide_approvalrequest")
    agent, other = Machine(both), Machine(alice())
    store_tool_settings("refund", FOUR_EYES, by=both)
    assert (agent.ask()["warnings"], other.ask()["warnings"]) == ([NO_ONE], [])


def test_four_eyes_leave_no_one_if_the_only_approver_asks_and_is_away():
    decider, delegate = bob(), make_person("erin", "decide_approvalrequest")
    root = User.objects.create_superuser("root")
    make_scope(decider, by=root, tools=["refund"])
    store_tool_settings("refund", FOUR_EYES, by=root)
    away(decider, delegate)
    asked = {person.username: Machine(person).ask()["warnings"] for person in (decider, delegate, alice())}
    assert asked == {"bob": [SUPERUSERS], "erin": [], "alice": []}


def test_mcp_says_so_at_once_instead_of_waiting_and_when_asked_again(monkeypatch):
    agent, decider = Agent(alice()), bob()
    a_scope_elsewhere(decider)
    # A call that waited would not end within the time of this test.
    monkeypatch.setattr(calls, "WAIT", 600.0)
    asked = agent.call("request_approval", REFUND).outcome
    assert (asked["status"], asked["warnings"]) == ("pending", [SUPERUSERS])
    monkeypatch.setattr(calls, "WAIT", 0.0)
    checked = agent.call("check_request", {"request_id": asked["request_id"]}).outcome
    assert checked["warnings"] == [SUPERUSERS]
    assert "warnings" not in agent.call("ask_human", MCP_QUESTION).outcome


def test_the_permission_prompt_and_the_hooks_say_so_with_the_denial(monkeypatch):
    decider, asker = bob(), alice()
    agent = Agent(asker)
    a_scope_elsewhere(decider)
    monkeypatch.setattr(calls, "PATIENCE", 0.0)
    assert agent.call("permission", WRITE).value["message"].endswith(SUPERUSERS)
    denied = Machine(asker).post(f"{CLAUDE_CODE}?wait=0", BASH).body["hookSpecificOutput"]
    assert denied["permissionDecisionReason"].endswith(SUPERUSERS)


def test_an_installation_may_refuse_such_requests_and_then_nothing_is_stored(settings):
    settings.HITL_REFUSE_UNDECIDABLE = True
    agent, decider = Machine(alice()), bob()
    a_scope_elsewhere(decider)
    reply = agent.post("/requests", APPROVAL, idempotency_key="1")
    assert reply.refusal == (422, "undecidable")
    assert reply.body["detail"] == f"{SUPERUSERS} The request was not created."
    assert (ApprovalRequest.objects.count(), Workflow.objects.count()) == (0, 0)
    assert agent.ask(tool_name="payroll")["status"] == "pending"
    assert agent.ask(QUESTION)["status"] == "pending"


def test_a_refused_request_can_be_asked_again_when_someone_may_decide_it(settings):
    settings.HITL_REFUSE_UNDECIDABLE = True
    agent, decider = Machine(alice()), bob()
    root = a_scope_elsewhere(decider)
    assert agent.post("/requests", APPROVAL, idempotency_key="1").status == 422
    make_scope(decider, by=root, tools=["refund"])
    assert agent.post("/requests", APPROVAL, idempotency_key="1").status == 201


def test_who_asks_reads_that_too_few_people_may_vote():
    agent, decider, team = Machine(alice()), bob(), Group.objects.create(name="finance")
    apply_policy(
        {"name": "All", "then": "ask", "ask": {"stages": [{"groups": [{"teams": ["finance"]}, {"votes": 1}]}]}}
    )
    few = "There are not enough people who may approve this request. Ask an administrator to check the policy."
    decider.groups.add(team)
    request = agent.ask()
    assert request["warnings"] == [few]
    make_person("carol", "decide_approvalrequest")
    assert agent.get(f"/requests/{request['id']}").body["warnings"] == []
    team.delete()
    assert agent.get(f"/requests/{request['id']}").body["warnings"] == [few]
    assert agent.ask(QUESTION)["warnings"] == []
