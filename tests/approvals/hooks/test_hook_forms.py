"""The forms of agents that differ from Claude Code's, in their reports and in the answers that they obey."""

from __future__ import annotations

import argparse
import json
from typing import Any

import httpx
import pytest
from pausepoint.hook import command as hook
from pausepoint.hook.forms import FORMS

#: The real one, which the tests give a transport.
Client = httpx.Client
INPUT = {"command": "touch one"}
CHANGED = {"command": "touch two"}


def allowed(**more: Any) -> dict[str, Any]:
    output = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "permissionDecisionReason": "Approved by bob",
    }
    return {"hookSpecificOutput": output | more}


def run(monkeypatch: pytest.MonkeyPatch, agent: str, report: dict[str, Any], answer: dict[str, Any]) -> tuple[Any, Any]:
    """Let the hook ask a desk that gives this answer. Return its requests and its output. Raise Blocked."""
    sent: list[Any] = []

    def reply(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json=answer, headers={hook.MARK: "1"})

    transport = httpx.MockTransport(reply)
    monkeypatch.setattr(hook.httpx, "Client", lambda **more: Client(transport=transport, headers=more["headers"]))
    options = {"agent": agent, "url": "https://desk.example.org", "key": "pp_key", "defer": False}
    args = argparse.Namespace(**options, give_up_after=30.0, patience=1.0)
    return sent, hook.answered(args, hook.report_in(json.dumps(report).encode(), agent))


def gemini(**more: Any) -> dict[str, Any]:
    report = {"session_id": "s", "cwd": "/srv", "hook_event_name": "BeforeTool", "tool_name": "run_shell_command"}
    return report | {"tool_input": INPUT} | more


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        ({}, {}),
        (
            allowed(updatedInput=CHANGED),
            {
                "decision": "allow",
                "reason": "Approved by bob",
                "hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": CHANGED},
            },
        ),
        (
            allowed(permissionDecision="deny", permissionDecisionReason="Not this one"),
            {"decision": "deny", "reason": "Not this one"},
        ),
    ],
)
def test_gemini_reports_and_reads_its_own_form(monkeypatch, answer, printed):
    sent, out = run(monkeypatch, "gemini-cli", gemini(), answer)
    assert (sent, out) == ([gemini(hook_event_name="PreToolUse")], printed)


def test_gemini_is_never_told_that_a_call_may_run_without_the_input_that_was_approved(monkeypatch):
    with pytest.raises(KeyError):
        run(monkeypatch, "gemini-cli", gemini(), allowed())


def test_a_tool_of_an_mcp_server_has_the_same_name_from_gemini_as_from_others():
    report = gemini(tool_name="mcp_bank_pay", mcp_context={"server_name": "bank", "tool_name": "pay"})
    read = FORMS["gemini-cli"].read
    assert read is not None
    assert read(report)["tool_name"] == "mcp__bank__pay"


def test_words_beside_a_result_reach_gemini(monkeypatch):
    told = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Go on"}}
    report = gemini(hook_event_name="AfterTool", tool_response={"llmContent": "x"})
    sent, out = run(monkeypatch, "gemini-cli", report, told)
    expected = {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": "Go on"}}
    assert (sent[0]["hook_event_name"], out) == ("PostToolUse", expected)


def test_copilot_reports_its_result_under_another_name(monkeypatch):
    report = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": INPUT}
    result = {"result_type": "success", "text_result_for_llm": "x"}
    sent, _out = run(monkeypatch, "copilot", report | {"tool_result": result}, {})
    assert sent == [report | {"tool_result": result, "tool_response": result}]


def test_copilot_is_told_words_beside_a_result_in_its_own_form_and_answers_before_a_call_in_that_of_claude_code(
    monkeypatch,
):
    report = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": INPUT}
    told = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Go on"}}
    assert run(monkeypatch, "copilot", report, told)[1] == {"additionalContext": "Go on"}
    asked = allowed(updatedInput=INPUT)
    assert run(monkeypatch, "copilot", report | {"hook_event_name": "PreToolUse"}, asked)[1] == asked


def test_qwen_is_not_told_that_a_call_may_run_whose_change_it_would_ignore(monkeypatch):
    report = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": INPUT}
    same = allowed(updatedInput=INPUT)
    assert run(monkeypatch, "qwen-code", report, same)[1] == same
    with pytest.raises(hook.Blocked, match="which this agent ignores"):
        run(monkeypatch, "qwen-code", report, allowed(updatedInput=CHANGED))


@pytest.mark.parametrize("agent", [name for name in FORMS if name != "claude-code"])
def test_no_other_agent_is_given_a_member_that_it_might_not_know(monkeypatch, agent):
    event = "BeforeTool" if agent == "gemini-cli" else "PreToolUse"
    report = {"hook_event_name": event, "session_id": "s", "tool_name": "Bash", "tool_input": INPUT}
    stopped = allowed(permissionDecision="deny") | {"continue": False, "stopReason": "Stop"}
    with pytest.raises(hook.Blocked, match="Update the command"):
        run(monkeypatch, agent, report, stopped)
