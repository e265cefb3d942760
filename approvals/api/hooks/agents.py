"""The coding agents that have hooks, and what their answers can express."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Event(StrEnum):
    """The events that are answered."""

    PRE_TOOL_USE = "PreToolUse"
    PERMISSION_REQUEST = "PermissionRequest"
    ELICITATION = "Elicitation"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"


#: The events that report what a call has done; nothing is asked then.
REPORTS = frozenset({Event.POST_TOOL_USE, Event.POST_TOOL_USE_FAILURE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A coding agent.

    `defers`: it can end and be resumed with the same call. `edits_permissions`: it takes an input in a PermissionRequest.
    """

    name: str
    events: frozenset[Event]
    defers: bool
    edits_permissions: bool


CLAUDE_CODE = Agent(name="Claude Code", events=frozenset(Event), defers=True, edits_permissions=True)
CODEX = Agent(
    name="Codex",
    events=frozenset({Event.PRE_TOOL_USE, Event.PERMISSION_REQUEST, Event.POST_TOOL_USE}),
    defers=False,
    edits_permissions=False,
)
