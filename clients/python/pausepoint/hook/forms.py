"""The forms in which coding agents call their hooks and read the answers. Pure.

Pausepoint and `pausepoint hook` speak the form of Claude Code (`PreToolUse`, `PostToolUse`), which most agents understand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

BEFORE, AFTER = "PreToolUse", "PostToolUse"
#: Gemini CLI's names of both events.
GEMINI_EVENTS = {"BeforeTool": BEFORE, "AfterTool": AFTER}

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How an agent differs, None where it does not.

    `read` turns its report into Pausepoint's form, `write` an answer of Pausepoint into its own. `keeps_input`: it runs a call
    with its own input, whatever the answer says.
    """

    read: Callable[[Document], Document] | None = None
    write: Callable[[Document], Document] | None = None
    keeps_input: bool = False


def _read_gemini(report: Document) -> Document:
    event = report.get("hook_event_name")
    read = {**report, "hook_event_name": GEMINI_EVENTS.get(str(event), event)}
    server = report.get("mcp_context")
    if isinstance(server, Mapping):
        read["tool_name"] = (
            f"mcp__{server.get('server_name')}__{server.get('tool_name')}"
        )
    return read


def _write_gemini(answer: Document) -> Document:
    output = answer.get("hookSpecificOutput")
    if output is None:
        return {}
    if output["hookEventName"] == AFTER:
        return {"hookSpecificOutput": {**output, "hookEventName": "AfterTool"}}
    reason = output.get("permissionDecisionReason", "")
    if output["permissionDecision"] != "allow":
        return {"decision": "deny", "reason": reason}
    changed = {"hookEventName": "BeforeTool", "tool_input": output["updatedInput"]}
    return {"decision": "allow", "reason": reason, "hookSpecificOutput": changed}


def _read_copilot(report: Document) -> Document:
    if "tool_result" not in report:
        return report
    return {**report, "tool_response": report["tool_result"]}


def _write_copilot(answer: Document) -> Document:
    output = answer.get("hookSpecificOutput", {})
    if output.get("hookEventName") != AFTER:
        return answer
    # It reads Claude Code's form before a call, but not after it (1.0.102).
    return {"additionalContext": output["additionalContext"]}


FORMS = {
    "claude-code": Form(),
    "codex": Form(),
    "gemini-cli": Form(_read_gemini, _write_gemini),
    "qwen-code": Form(keeps_input=True),
    "copilot": Form(_read_copilot, _write_copilot),
    "opencode": Form(),
}
