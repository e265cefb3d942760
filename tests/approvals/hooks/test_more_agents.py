"""Gemini CLI, Qwen Code, Copilot CLI and opencode: calls without ids, names of the shell, and changes that cannot be made."""

from __future__ import annotations

from typing import Any

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, AuditEntry
from approvals.states import Door, Verdict
from tests.approvals.hooks.calls import BASH, decide, only
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

NOW = "?wait=0"
EDITED = {"command": "ls"}
UNNAMED = {name: value for name, value in BASH.items() if name not in {"tool_use_id", "prompt_id"}}
unnamed = pytest.mark.parametrize("address", ["/hooks/gemini-cli", "/hooks/copilot"])


def ran(call: dict[str, Any], **changes: object) -> dict[str, Any]:
    return call | {"hook_event_name": "PostToolUse", "tool_response": "done"} | changes


def results() -> list[Any]:
    """The outputs on record, in the order of their requests."""
    numbers = list(ApprovalRequest.objects.order_by("created_at").values_list("pk", flat=True))
    entries = AuditEntry.objects.filter(event="tool.result")
    return sorted((numbers.index(entry.request_id), entry.data["output"]) for entry in entries)


def permission(body: dict[str, Any]) -> tuple[str, Any]:
    output = body["hookSpecificOutput"]
    return output["permissionDecision"], output.get("updatedInput")


@unnamed
@pytest.mark.parametrize(
    ("verdict", "said", "approved"),
    [(Verdict.APPROVE, {}, BASH["tool_input"]), (Verdict.EDIT, {"edited_input": EDITED}, EDITED)],
)
def test_a_call_without_an_id_runs_with_the_approved_input_and_its_result_is_recorded_once(
    address, verdict, said, approved
):
    agent, decider = Machine(alice()), bob()
    agent.post(address + NOW, UNNAMED)
    decide(decider, verdict, **said)
    assert permission(agent.post(address + NOW, UNNAMED).body) == ("allow", approved)
    assert [agent.post(address, ran(UNNAMED, tool_input=approved)).status for _ in range(2)] == [200, 200]
    assert results() == [(0, "done")]


@unnamed
def test_equal_calls_without_ids_need_an_approval_each_and_are_reported_in_order(address):
    agent, decider = Machine(alice()), bob()
    for output in ("first", "second"):
        agent.post(address + NOW, UNNAMED)
        request = ApprovalRequest.objects.get(status="pending")
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
        assert permission(agent.post(address + NOW, UNNAMED).body)[0] == "allow"
        agent.post(address, ran(UNNAMED, tool_response=output))
    assert results() == [(0, "first"), (1, "second")]
    # A third one has no approval.
    assert permission(agent.post(address + NOW, UNNAMED).body)[0] == "deny"


@unnamed
def test_another_input_than_the_approved_one_is_recorded_as_that(address):
    agent, decider = Machine(alice()), bob()
    agent.post(address + NOW, UNNAMED)
    decide(decider, Verdict.APPROVE)
    agent.post(address + NOW, UNNAMED)
    assert agent.post(address, ran(UNNAMED, tool_input=EDITED)).refusal == (409, "other_input")
    assert (results(), AuditEntry.objects.filter(event="tool.other_input").count()) == ([], 1)


@unnamed
def test_the_result_of_a_call_that_no_one_was_asked_about_is_not_recorded(address):
    assert Machine(alice()).post(address, ran(UNNAMED)).body == {}
    assert results() == []


@pytest.mark.parametrize("address", ["/hooks/qwen-code", "/hooks/opencode", "/hooks/codex"])
def test_other_agents_have_to_name_their_calls(address):
    reply = Machine(alice()).post(address + NOW, UNNAMED)
    assert (reply.status, list(reply.body["errors"])) == (422, ["tool_use_id"])


def test_a_change_that_qwen_code_would_ignore_denies_the_call_and_names_the_change():
    agent, decider = Machine(alice()), bob()
    agent.post("/hooks/qwen-code" + NOW, BASH)
    decide(decider, Verdict.EDIT, edited_input=EDITED)
    output = agent.post("/hooks/qwen-code" + NOW, BASH).body["hookSpecificOutput"]
    assert (output["permissionDecision"], output["permissionDecisionReason"]) == (
        "deny",
        "A person approved this call only with changes, which Qwen Code cannot make itself. "
        'Call the tool with this input: {"command": "ls"}',
    )


@pytest.mark.parametrize(
    ("address", "tool"),
    [
        ("/hooks/gemini-cli", "run_shell_command"),
        ("/hooks/qwen-code", "run_shell_command"),
        ("/hooks/copilot", "Bash"),
        ("/hooks/opencode", "bash"),
        ("/hooks/claude-code", "Bash"),
    ],
)
def test_the_shell_of_each_agent_has_one_name(address, tool):
    Machine(alice()).post(address + NOW, BASH | {"tool_name": tool})
    assert only().tool_name == "Bash"


@pytest.mark.shows("gemini-cli", "person")
@pytest.mark.shows("qwen-code", "person")
@pytest.mark.shows("copilot", "person")
@pytest.mark.shows("opencode", "person")
@pytest.mark.parametrize("address", ["/hooks/gemini-cli", "/hooks/qwen-code", "/hooks/copilot", "/hooks/opencode"])
def test_each_agent_is_told_who_decided(address):
    agent, decider = Machine(alice()), bob()
    agent.post(address + NOW, BASH)
    decide(decider, Verdict.APPROVE)
    output = agent.post(address + NOW, BASH).body["hookSpecificOutput"]
    assert output["permissionDecisionReason"].startswith("Approved by bob")


@pytest.mark.parametrize("address", ["/hooks/gemini-cli", "/hooks/qwen-code", "/hooks/copilot", "/hooks/opencode"])
@pytest.mark.parametrize("event", ["PermissionRequest", "Elicitation", "UserPromptSubmit"])
def test_events_that_an_agent_does_not_have_are_refused(address, event):
    reply = Machine(alice()).post(address + NOW, BASH | {"hook_event_name": event})
    assert (reply.status, reply.body["errors"]["hook_event_name"].split(",")[0]) == (422, "must be one of PostToolUse")
