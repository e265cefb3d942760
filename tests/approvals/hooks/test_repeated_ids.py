"""Calls whose ids repeat, as those of some vendors of models do: each input, tool and directory is a call of its own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Door, Verdict
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, CODEX_BASH
from tests.support.machine import Machine, Reply
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

NOW, DEFER = "?wait=0", "?wait=defer"
AGENTS = [(CLAUDE_CODE, BASH), (CODEX, CODEX_BASH)]
LIST, SHOW = {"command": "ls"}, {"command": "cat secrets.txt"}


def heard(reply: Reply) -> str:
    return str(reply.body["hookSpecificOutput"]["permissionDecision"])


def with_input(call: dict[str, Any], tool_input: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return call | {"tool_input": tool_input} | changes


def ran(call: dict[str, Any], output: str = "done") -> dict[str, Any]:
    return call | {"hook_event_name": "PostToolUse", "tool_response": output}


def request_of(tool_input: dict[str, Any], **chosen: Any) -> ApprovalRequest:
    """Return the only request about an input."""
    (request,) = (each for each in ApprovalRequest.objects.filter(**chosen) if each.input == tool_input)
    return request


def decide(tool_input: dict[str, Any], by: Any, verdict: Verdict = Verdict.APPROVE, **said: Any) -> ApprovalRequest:
    """Decide the request that waits about an input."""
    request = request_of(tool_input, status="pending")
    actions.decide(request.pk, Answer(verdict, **said), by=by, via=Door.DASHBOARD)
    return request


def results() -> dict[UUID, str]:
    """Return the recorded outputs by request."""
    return {entry.request_id: entry.data["output"] for entry in AuditEntry.objects.filter(event="tool.result")}


@pytest.mark.parametrize(("address", "call"), AGENTS)
@pytest.mark.parametrize("other", [{"tool_input": LIST}, {"cwd": "/etc"}, {"tool_name": "Shell"}])
def test_another_call_under_the_same_id_is_asked_about_and_never_runs_on_the_first_approval(address, call, other):
    agent, approver = Machine(alice()), bob()
    agent.post(address + NOW, call)
    decide(call["tool_input"], approver)
    second = agent.post(address + NOW, call | other)
    assert (second.status, heard(second), second.headers["pausepoint-status"]) == (200, "deny", "pending")
    assert heard(agent.post(address + NOW, call)) == "allow"
    first, asked = ApprovalRequest.objects.order_by("created_at")
    assert (asked.status, asked.tool_call_id) == ("pending", f"{first.tool_call_id}#2")


@pytest.mark.parametrize("address", [CLAUDE_CODE + NOW, CLAUDE_CODE + DEFER])
def test_each_of_several_calls_under_one_id_finds_its_own_request_again(address):
    agent, approver = Machine(alice()), bob()
    inputs = [BASH["tool_input"], LIST, SHOW]
    for tool_input in inputs * 2:
        agent.post(address, with_input(BASH, tool_input))
    assert ApprovalRequest.objects.count() == 3
    decide(LIST, approver)
    decide(SHOW, approver, Verdict.REJECT, comment="Never.")
    answers = [heard(agent.post(address, with_input(BASH, tool_input))) for tool_input in inputs]
    assert answers == ["defer" if address.endswith(DEFER) else "deny", "allow", "deny"]
    assert ApprovalRequest.objects.count() == 3


def test_the_result_of_each_call_under_one_id_is_recorded_with_its_own_request():
    agent, approver = Machine(alice()), bob()
    inputs = [BASH["tool_input"], LIST, SHOW]
    for tool_input in inputs:
        agent.post(CLAUDE_CODE + NOW, with_input(BASH, tool_input))
    made = [decide(tool_input, approver) for tool_input in inputs]
    for number in (1, 0, 2):
        report = ran(with_input(BASH, inputs[number]), f"output {number}")
        assert [agent.post(CLAUDE_CODE, report).body for _ in range(2)] == [{}, {}]
    assert results() == {request.pk: f"output {number}" for number, request in enumerate(made)}


def test_a_report_that_is_sent_again_is_not_the_result_of_a_later_call_that_waits():
    agent, approver = Machine(alice()), bob()
    agent.post(CLAUDE_CODE + NOW, BASH)
    first = decide(BASH["tool_input"], approver)
    for _ in range(2):
        assert agent.post(CLAUDE_CODE, ran(BASH)).body == {}
        agent.post(CLAUDE_CODE + NOW, BASH)
    second = decide(BASH["tool_input"], approver)
    assert agent.post(CLAUDE_CODE, ran(BASH, "again")).body == {}
    assert results() == {first.pk: "done", second.pk: "again"}


def test_a_call_that_ran_with_a_change_is_found_by_what_ran():
    agent, approver = Machine(alice()), bob()
    for tool_input in (BASH["tool_input"], LIST):
        agent.post(CLAUDE_CODE + NOW, with_input(BASH, tool_input))
    changed = decide(BASH["tool_input"], approver, Verdict.EDIT, edited_input=SHOW)
    decide(LIST, approver)
    body = agent.post(CLAUDE_CODE, ran(with_input(BASH, SHOW))).body
    assert "with a different input than you sent" in body["hookSpecificOutput"]["additionalContext"]
    assert results() == {changed.pk: "done"}


@pytest.mark.parametrize("reported", [SHOW, {"command": "something else"}])
def test_a_report_that_may_be_about_several_calls_is_refused_and_nothing_is_recorded(reported):
    agent, approver = Machine(alice()), bob()
    for tool_input in (BASH["tool_input"], LIST):
        agent.post(CLAUDE_CODE + NOW, with_input(BASH, tool_input))
        decide(tool_input, approver, Verdict.EDIT, edited_input=SHOW)
    reply = agent.post(CLAUDE_CODE, ran(with_input(BASH, reported)))
    assert (reply.refusal, reply.body["detail"]) == (
        (409, "conflict"),
        "The input of this report does not show which of several approved calls ran. Nothing was recorded.",
    )
    assert not AuditEntry.objects.filter(event__in=("tool.result", "tool.other_input")).exists()


def test_another_input_than_the_approved_one_is_recorded_with_the_only_call_that_may_have_run():
    agent, approver = Machine(alice()), bob()
    for tool_input in (BASH["tool_input"], LIST):
        agent.post(CLAUDE_CODE + NOW, with_input(BASH, tool_input))
    approved = decide(BASH["tool_input"], approver)
    # Without an approval, no result is recorded even if the call has run.
    assert agent.post(CLAUDE_CODE, ran(with_input(BASH, LIST))).body == {}
    assert agent.post(CLAUDE_CODE, ran(with_input(BASH, SHOW))).refusal == (409, "other_input")
    (entry,) = AuditEntry.objects.filter(event__in=("tool.result", "tool.other_input"))
    assert (entry.event, entry.request_id) == ("tool.other_input", approved.pk)


def test_a_report_of_another_tool_under_the_same_id_says_nothing_about_an_approved_call():
    agent, approver = Machine(alice()), bob()
    agent.post(CLAUDE_CODE + NOW, BASH)
    decide(BASH["tool_input"], approver)
    read = ran(BASH | {"tool_name": "Read", "tool_input": {"file_path": "a.txt"}})
    assert agent.post(CLAUDE_CODE, read).body == {}
    assert not AuditEntry.objects.filter(event__in=("tool.result", "tool.other_input")).exists()


def test_an_id_that_the_client_has_given_to_another_request_keeps_no_call_from_being_asked_about():
    agent = Machine(alice())
    agent.post(CLAUDE_CODE + NOW, BASH)
    taken = f"{request_of(BASH['tool_input']).tool_call_id}#2"
    asked = {"kind": "approval", "title": "Run it?", "tool_name": "run", "tool_call_id": taken}
    assert agent.post("/requests", asked).status == 201
    for _ in range(2):
        assert heard(agent.post(CLAUDE_CODE + NOW, with_input(BASH, LIST))) == "deny"
    assert request_of(LIST).tool_call_id.startswith("call:")
