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


#: The name of a shell command in requests, rules and lists, whatever an agent calls it.
SHELL = "Bash"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingAgent:
    """A coding agent. `path` is the last part of its address, and `shell_tool` its own name of a shell command.

    `names_calls`: its calls have ids. `edits_calls`: it runs a call with the input of the answer. `defers`: it can exit and be
    resumed with the same call. `edits_permissions`: it accepts an input in a PermissionRequest. `stops`: it obeys an answer
    that ends the run.
    """

    path: str
    name: str
    events: frozenset[HookEvent] = frozenset(
        {HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE}
    )
    shell_tool: str = SHELL
    names_calls: bool = True
    edits_calls: bool = True
    defers: bool = False
    edits_permissions: bool = False
    stops: bool = False

    def shared_name(self, tool: str) -> str:
        """Return the name under which requests, rules and lists know a tool of this agent."""
        return SHELL if tool == self.shell_tool else tool


CLAUDE_CODE = CodingAgent(
    path="claude-code",
    name="Claude Code",
    events=frozenset(HookEvent),
    defers=True,
    edits_permissions=True,
    stops=True,
)
CODEX = CodingAgent(
    path="codex",
    name="Codex",
    events=frozenset(
        {HookEvent.PRE_TOOL_USE, HookEvent.PERMISSION_REQUEST, HookEvent.POST_TOOL_USE}
    ),
)
GEMINI_CLI = CodingAgent(
    path="gemini-cli",
    name="Gemini CLI",
    shell_tool="run_shell_command",
    names_calls=False,
)
QWEN_CODE = CodingAgent(
    path="qwen-code",
    name="Qwen Code",
    shell_tool="run_shell_command",
    edits_calls=False,
)
COPILOT = CodingAgent(path="copilot", name="Copilot CLI", names_calls=False)
OPENCODE = CodingAgent(path="opencode", name="opencode", shell_tool="bash")
AGENTS = (CLAUDE_CODE, CODEX, GEMINI_CLI, QWEN_CODE, COPILOT, OPENCODE)
