"""Coding agents with hooks, and the abilities of their hook protocols."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class HookEvent(StrEnum):
    """The supported hook events."""

    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    ELICITATION = "Elicitation"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"


#: Events that report the result of a call; nothing is asked then.
REPORTS = frozenset({HookEvent.POST_TOOL_USE, HookEvent.POST_TOOL_USE_FAILURE})


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingAgent:
    """A coding agent.

    `defers`: it can exit and be resumed with the same call. `edits_permissions`: it accepts an input in a PermissionRequest.
    """

    name: str
    events: frozenset[HookEvent]
    defers: bool
    edits_permissions: bool


CLAUDE_CODE = CodingAgent(
    name="Claude Code", events=frozenset(HookEvent), defers=True, edits_permissions=True
)
CODEX = CodingAgent(
    name="Codex",
    events=frozenset(
        {HookEvent.PRE_TOOL_USE, HookEvent.PERMISSION_REQUEST, HookEvent.POST_TOOL_USE}
    ),
    defers=False,
    edits_permissions=False,
)
