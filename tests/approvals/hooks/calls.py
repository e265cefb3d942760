"""Bodies of hooks as the agents send them, and helpers for them."""

from __future__ import annotations

from typing import Any

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict

CLAUDE_CODE, CODEX = "/hooks/claude-code", "/hooks/codex"

BASH: dict[str, Any] = {
    "session_id": "8740923f-5e33-4166-92f9-dfda1c39a4af",
    "transcript_path": "/home/alice/.claude/projects/app/8740923f.jsonl",
    "cwd": "/srv/app",
    "prompt_id": "a6d059d9-2618-4724-b6c4-e94745aa9936",
    "permission_mode": "default",
    "effort": {"level": "medium"},
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf build", "description": "Clean up"},
    "tool_use_id": "toolu_0001",
}
PERMISSION: dict[str, Any] = {
    **{name: value for name, value in BASH.items() if name != "tool_use_id"},
    "hook_event_name": "PermissionRequest",
    "permission_suggestions": [],
}
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "like a rose"}, {"label": "Blue", "description": "like the sea"}],
}
SIZES = {
    "question": "Which sizes?",
    "header": "Sizes",
    "multiSelect": True,
    "options": [{"label": "S"}, {"label": "L"}],
}
QUESTION: dict[str, Any] = {**BASH, "tool_name": "AskUserQuestion", "tool_input": {"questions": [COLOUR]}}
ELICITATION: dict[str, Any] = {
    "session_id": BASH["session_id"],
    "cwd": "/srv/app",
    "prompt_id": BASH["prompt_id"],
    "permission_mode": "default",
    "hook_event_name": "Elicitation",
    "mcp_server_name": "colours",
    "message": "Which colour do you like?",
    "mode": "form",
    "requested_schema": {
        "type": "object",
        "properties": {"colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]}},
        "required": ["colour"],
    },
}
PROMPT: dict[str, Any] = {
    "session_id": BASH["session_id"],
    "cwd": "/srv/app",
    "prompt_id": "0c2b6de5-6d4c-4d55-9b36-3c8c7a1a7a41",
    "permission_mode": "default",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "Go on",
}
CODEX_BASH: dict[str, Any] = {
    "session_id": "01a20733-c816-7772-bec5-614723cd0e44",
    "turn_id": "01a20733-c843-71e3-8e42-4641ef57f420",
    "transcript_path": None,
    "cwd": "/srv/app",
    "hook_event_name": "PreToolUse",
    "model": "gpt-5.4",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf build"},
    "tool_use_id": "call_1",
}
CODEX_PERMISSION: dict[str, Any] = {
    **{name: value for name, value in CODEX_BASH.items() if name != "tool_use_id"},
    "hook_event_name": "PermissionRequest",
}


def only() -> ApprovalRequest:
    return ApprovalRequest.objects.select_related("workflow").get()


def decide(by: Any, verdict: Verdict, **said: Any) -> None:
    """Decide the only request on its page."""
    actions.decide(only().pk, Answer(verdict, **said), by=by, via=Door.DASHBOARD)
