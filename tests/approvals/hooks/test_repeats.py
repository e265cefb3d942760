"""Calls that come again: one approval lets one call run, and a second one is told so or asks people anew."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.background import waiting_room
from approvals.db.pool import run
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Door, Verdict
from tests.approvals.api.test_ask_human_waiting import NEVER
from tests.approvals.hooks.calls import (
    BASH,
    CLAUDE_CODE,
    CODEX,
    CODEX_BASH,
    CODEX_PERMISSION,
    ELICITATION,
    PERMISSION,
    decide,
    only,
)
from tests.support.machine import Machine, Reply
from tests.support.machines import machine, served
from tests.support.people import alice, bob
from tests.support.waiting import until_clients_wait

pytestmark = pytest.mark.django_db

NOW, DEFER = "?wait=0", "?wait=defer"
NAMELESS = [(CLAUDE_CODE, PERMISSION), (CODEX, CODEX_PERMISSION)]
NAMED = [(CLAUDE_CODE, BASH), (CODEX, CODEX_BASH)]


@pytest.fixture
def agent() -> Machine:
    return Machine(alice())


@pytest.fixture
def approver() -> Any:
    return bob()


def heard(reply: Reply) -> str:
    """Return the result for the caller: allow, deny, or the action of an elicitation."""
    said = reply.body["hookSpecificOutput"]
    return str(said.get("permissionDecision") or said.get("action") or said["decision"]["behavior"])


def words(reply: Reply) -> str:
    said = reply.body["hookSpecificOutput"]
    return str(said.get("permissionDecisionReason") or said["decision"].get("message"))


def end(by: Any, verdict: Verdict = Verdict.APPROVE, **said: Any) -> None:
    """Decide the only request that waits."""
    waiting = ApprovalRequest.objects.get(status="pending")
    actions.decide(waiting.pk, Answer(verdict, **said), by=by, via=Door.DASHBOARD)


def report(agent: Machine, address: str, call: dict[str, Any]) -> None:
    ran = call | {"hook_event_name": "PostToolUse", "tool_response": "done"}
    assert agent.post(address, ran).body == {}


@pytest.mark.parametrize(("address", "call"), NAMELESS)
def test_one_approval_of_a_call_without_an_id_lets_one_call_run(agent, approver, address, call):
    agent.post(address + NOW, call)
    end(approver)
    assert [heard(agent.post(address + NOW, call)) for _ in range(4)] == ["allow", "deny", "deny", "deny"]
    # The others wait for a person, together.
    asked = ApprovalRequest.objects.order_by("created_at")
    assert [request.status for request in asked] == ["approved", "pending"]
    assert asked[1].tool_call_id == f"{asked[0].tool_call_id}#2"
    end(approver)
    assert [heard(agent.post(address + NOW, call)) for _ in range(2)] == ["allow", "deny"]
    assert [request.tool_call_id.partition("#")[2] for request in asked.all()] == ["", "2", "3"]


def test_without_a_prompt_too_one_approval_is_for_one_call(agent, approver):
    call = {name: value for name, value in PERMISSION.items() if name != "prompt_id"}
    agent.post(CLAUDE_CODE + NOW, call)
    end(approver)
    assert [heard(agent.post(CLAUDE_CODE + NOW, call)) for _ in range(2)] == ["allow", "deny"]


def test_a_client_that_names_its_attempts_gets_what_it_has_taken_again(agent, approver):
    mine, other = {"idempotency_key": "hook-1"}, {"idempotency_key": "hook-2"}
    agent.post(CLAUDE_CODE + NOW, PERMISSION, **mine)
    end(approver)
    replies = [agent.post(CLAUDE_CODE + NOW, PERMISSION, **key) for key in (mine, mine, other, mine)]
    # The last one comes after another call has asked anew: it is no repeat of the latest request any more.
    assert [heard(reply) for reply in replies] == ["allow", "allow", "deny", "deny"]


def test_a_rejection_is_for_the_next_call_if_nobody_heard_it_and_later_ones_ask_again(agent, approver):
    agent.post(CLAUDE_CODE + NOW, PERMISSION)
    end(approver, Verdict.REJECT, comment="Not on a Friday.")
    assert "Not on a Friday." in words(agent.post(CLAUDE_CODE + NOW, PERMISSION))
    assert agent.post(CLAUDE_CODE + NOW, PERMISSION).headers["pausepoint-status"] == "pending"


@pytest.mark.parametrize("ending", ["cancel", "expire"])
def test_a_request_that_ended_without_a_decision_is_asked_anew(agent, approver, ending):
    agent.post(CLAUDE_CODE + NOW, PERMISSION)
    if ending == "cancel":
        actions.cancel(only().pk, by=approver, via=Door.DASHBOARD)
    else:
        ApprovalRequest.objects.update(deadline_at="2026-01-01T00:00Z")
        assert actions.expire(only().pk)
    assert agent.post(CLAUDE_CODE + NOW, PERMISSION).headers["pausepoint-status"] == "pending"


def test_an_answer_to_a_server_is_given_once(agent, approver):
    agent.post(CLAUDE_CODE + NOW, ELICITATION)
    end(approver, Verdict.RESPOND, answer={"colour": "red"})
    assert [heard(agent.post(CLAUDE_CODE + NOW, ELICITATION)) for _ in range(2)] == ["accept", "cancel"]


@pytest.mark.parametrize(("address", "call"), NAMED)
def test_a_call_with_an_id_gets_its_decision_again_until_its_result_is_reported(agent, approver, address, call):
    agent.post(address + NOW, call)
    end(approver)
    assert [heard(agent.post(address + NOW, call)) for _ in range(3)] == ["allow"] * 3
    report(agent, address, call)
    # A model that numbers its calls anew: the same id is another call now, also with another input.
    other = call | {"tool_input": {"command": "ls"}}
    assert [heard(agent.post(address + NOW, again)) for again in (call, call)] == ["deny", "deny"]
    end(approver)
    assert heard(agent.post(address + NOW, call)) == "allow"
    report(agent, address, call)
    assert heard(agent.post(address + NOW, other)) == "deny"
    assert list(ApprovalRequest.objects.order_by("created_at").values_list("status", flat=True)) == [
        "approved",
        "approved",
        "pending",
    ]


@pytest.mark.parametrize(("address", "call"), NAMED)
def test_the_same_id_in_another_prompt_is_another_call(agent, approver, address, call):
    agent.post(address + NOW, call)
    end(approver)
    prompt = "prompt_id" if "prompt_id" in call else "turn_id"
    assert heard(agent.post(address + NOW, call | {prompt: "another"})) == "deny"
    assert ApprovalRequest.objects.filter(status="pending").count() == 1


def test_a_deferred_call_is_known_in_every_prompt_until_its_result_is_reported(agent, approver):
    agent.post(CLAUDE_CODE + DEFER, BASH)
    end(approver)
    resumed = BASH | {"prompt_id": "another"}
    assert heard(agent.post(CLAUDE_CODE + DEFER, resumed)) == "allow"
    report(agent, CLAUDE_CODE, resumed)
    assert heard(agent.post(CLAUDE_CODE + DEFER, resumed)) == "defer"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("verdict", "allowed", "told"),
    [
        (Verdict.APPROVE, 1, "another call has already used that approval: Claude Code, session"),
        (Verdict.REJECT, 0, "declined"),
    ],
)
def test_of_calls_that_wait_together_one_runs_and_the_others_hear_why_not(monkeypatch, verdict, allowed, told):
    monkeypatch.setattr(waiting_room, "POLL", NEVER)
    client, decider = machine(alice()), bob()

    async def story() -> list[Any]:
        waiting = [asyncio.ensure_future(client.acall("POST", f"/api/v1{CLAUDE_CODE}", PERMISSION)) for _ in range(4)]
        await until_clients_wait(len(waiting))
        await run(decide, decider, verdict)
        return list(await asyncio.gather(*waiting))

    said = [answer.json["hookSpecificOutput"]["decision"] for answer in served(story)]
    assert sorted(each["behavior"] for each in said) == ["allow"] * allowed + ["deny"] * (4 - allowed)
    assert all(told in each["message"] for each in said if each["behavior"] == "deny")
    (taken,) = AuditEntry.objects.filter(event="request.taken")
    assert (taken.actor_name, taken.via, taken.data) == ("API key test of alice", "rest", {"call": only().taken_by})
