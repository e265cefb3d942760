"""The result of a call in the document of its request, wherever a program gets that."""

from __future__ import annotations

import pytest

from approvals.db.canonical_json import utc
from approvals.models import ApprovalRequest, AuditEntry
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent() -> Machine:
    return Machine(alice())


@pytest.fixture
def approver() -> Machine:
    return Machine(bob())


def run(agent: Machine, approver: Machine, result: dict, **ask) -> tuple[dict, dict]:
    """Ask, approve and report; return the request before and its result."""
    asked = agent.ask(**ask)
    assert asked["result"] is None
    approved = approver.decide(asked, "approve").body
    assert approved["result"] is None
    digest = approved["decision"]["approved_digest"]
    assert agent.post(f"/requests/{asked['id']}/result", {"input_digest": digest, **result}).status == 201
    return approved, agent.get(f"/requests/{asked['id']}").body["result"]


@pytest.mark.parametrize("named", [{}, {"tool_call_id": "call-1", "workflow_id": "run-1"}])
def test_a_request_shows_what_its_call_returned(agent, approver, named):
    approved, result = run(agent, approver, {"output": {"refunded": 120}}, **named)
    at = AuditEntry.objects.get(event="tool.result").at
    assert result == {
        "state": "succeeded",
        "output": {"refunded": 120},
        "error": None,
        "executed_digest": approved["decision"]["approved_digest"],
        "reported_at": utc(at),
    }


def test_a_failed_call_shows_its_error_and_null_is_an_output(agent, approver):
    failed, nothing = (
        run(agent, approver, said, tool_call_id=call)[1]
        for call, said in (("call-1", {"error": "Bank is closed"}), ("call-2", {"output": None}))
    )
    assert [(each["state"], each["output"], each["error"]) for each in (failed, nothing)] == [
        ("failed", None, "Bank is closed"),
        ("succeeded", None, None),
    ]


def test_every_answer_that_repeats_a_request_has_its_result(agent, approver):
    key = {"idempotency_key": "ask-1"}
    asked = agent.post("/requests", APPROVAL, **key).body
    approver.decide(asked, "approve")
    agent.post(f"/requests/{asked['id']}/result", {"input_digest": asked["input_digest"], "output": 1})
    repeats = (
        agent.post("/requests", APPROVAL, **key),
        agent.get(f"/requests/{asked['id']}"),
        approver.decide(asked, "approve"),
    )
    assert [(reply.status, reply.body["result"]["output"]) for reply in repeats] == [(200, 1)] * 3


def test_another_input_is_no_result(agent, approver):
    asked = agent.ask()
    approver.decide(asked, "edit", edited_input={"amount": 100})
    agent.post(f"/requests/{asked['id']}/result", {"input_digest": asked["input_digest"], "output": 1})
    assert agent.get(f"/requests/{asked['id']}").body["result"] is None


def test_the_result_of_another_client_with_the_same_call_id_is_not_shown(agent, approver):
    run(agent, approver, {"output": 1}, tool_call_id="call-1")
    other = Machine(agent.key.user)
    asked = other.ask(tool_call_id="call-1")
    assert approver.decide(asked, "approve").body["result"] is None
    assert other.get(f"/requests/{asked['id']}").body["result"] is None


def test_who_may_not_read_the_request_does_not_read_its_result(agent, approver):
    run(agent, approver, {"output": 1})
    assert Machine(mallory()).get(f"/requests/{ApprovalRequest.objects.get().pk}").refusal == (404, "not_found")
