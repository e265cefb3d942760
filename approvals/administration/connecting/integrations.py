"""The setup lines for each kind of agent, for the page *Connect your agent*.

README.md, the pages of the documentation and `pausepoint connect` show the same lines; tests compare them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

#: A clone of the repository, from which both clients are installed.
CLONE = "/path/to/pausepoint"
JAVASCRIPT_CLIENT = (
    f"(cd {CLONE}/clients/javascript && npm install && npm run build)",
    f"npm install {CLONE}/clients/javascript",
)


@dataclass(frozen=True, slots=True)
class Integration:
    """A kind of agent. `page` is its page in docs/how-to."""

    page: str
    title: str | Promise
    #: Shell commands, run after the address and the key are in the environment.
    install: tuple[str, ...]
    commands: tuple[str, ...] = ()
    #: Lines to add to the agent's code. The last one connects it.
    code: tuple[str, ...] = ()
    #: The calls that the agent's hook does not see, and that run unasked.
    unseen: str | Promise = ""

    def shell(self, url: str, key: str) -> str:
        """Return the shell commands to paste where the agent runs."""
        variables = (
            f"export PAUSEPOINT_URL={shlex.quote(url)}",
            f"export PAUSEPOINT_KEY={shlex.quote(key)}",
        )
        return "\n".join((*self.install, *variables, *self.commands))

    @property
    def lines(self) -> str:
        """The lines to add to the agent's code; empty if it is connected from the shell."""
        return "\n".join(self.code)

    @property
    def line(self) -> str:
        """The line that connects the agent."""
        return (self.code or self.commands)[-1]


def _python_client(extra: str = "") -> tuple[str, ...]:
    client = f"{CLONE}/clients/python"
    return (f'pip install "{client}[{extra}]"' if extra else f"pip install {client}",)


def _python(page: str, title: str, *code: str, extra: str = "") -> Integration:
    return Integration(page, title, _python_client(extra or page), code=code)


def _javascript(page: str, title: str, *code: str) -> Integration:
    return Integration(page, title, JAVASCRIPT_CLIENT, code=code)


def _coding_agent(
    page: str, title: str, unseen: str | Promise, agent: str = ""
) -> Integration:
    """Return a coding agent, which `pausepoint connect` knows by the name of its page or as `agent`."""
    command = f"pausepoint connect --agent {agent or page}"
    return Integration(
        page, title, _python_client(), commands=(command,), unseen=unseen
    )


INTEGRATIONS = (
    _coding_agent(
        "claude-code",
        "Claude Code",
        _("Calls while hooks are switched off in any settings."),
    ),
    _coding_agent(
        "codex",
        "Codex",
        _(
            "Input to a command that already runs, hosted web search, and every call until you have trusted the hook."
        ),
    ),
    _coding_agent(
        "gemini-cli",
        "Gemini CLI",
        _("Calls while hooks are switched off in any settings."),
    ),
    _coding_agent(
        "qwen-code",
        "Qwen Code",
        _("Calls with --bare, or while hooks are switched off in any settings."),
    ),
    _coding_agent(
        "copilot-cli",
        "Copilot CLI",
        _("Calls while hooks are switched off in its settings."),
        "copilot",
    ),
    _coding_agent(
        "opencode",
        "opencode",
        _("Calls with --pure, or if it cannot load the plugin, which it does not say."),
    ),
    Integration(
        "mcp",
        _("Any MCP client"),
        (),
        commands=(
            'claude mcp add --transport http desk "$PAUSEPOINT_URL/mcp" '
            "--header 'Authorization: Bearer ${PAUSEPOINT_KEY}'",
        ),
    ),
    _python(
        "langchain",
        "LangChain, LangGraph",
        "from pausepoint import Desk",
        "from pausepoint.langchain import DeskApproval",
        'middleware=[DeskApproval(Desk(), "refund")]',
    ),
    _python(
        "pydantic-ai",
        "Pydantic AI",
        "from pausepoint import AsyncDesk",
        "from pausepoint.pydantic_ai import HandleDeferredToolCalls",
        "capabilities=[HandleDeferredToolCalls(AsyncDesk())]",
    ),
    _python(
        "openai-agents",
        "OpenAI Agents SDK",
        "from pausepoint import AsyncDesk",
        "from pausepoint.openai_agents import run_with_desk",
        "await run_with_desk(agent, text, AsyncDesk(), thread_id=thread_id)",
    ),
    _javascript(
        "openai-agents-js",
        "OpenAI Agents SDK for JavaScript",
        'import { Desk } from "@pausepoint/client";',
        'import { runWithDesk } from "@pausepoint/client/openai-agents";',
        "await runWithDesk(agent, text, new Desk(), { threadId })",
    ),
    _javascript(
        "langchain-js",
        "LangChain, LangGraph for JavaScript",
        'import { gate } from "@pausepoint/client/langchain";',
        'tools: gate([refund], { tools: ["refund"] })',
    ),
    _javascript(
        "mastra",
        "Mastra",
        'import { gate } from "@pausepoint/client/mastra";',
        'tools: gate({ refund }, { tools: ["refund"] })',
    ),
    _javascript(
        "genkit",
        "Genkit",
        'import { gate } from "@pausepoint/client/genkit";',
        'use: [gate({ tools: ["refund"], threadId })]',
    ),
    _python(
        "claude-agent-sdk",
        "Claude Agent SDK",
        "from pausepoint import AsyncDesk",
        "can_use_tool=AsyncDesk().can_use_tool",
        extra="claude",
    ),
    _javascript(
        "ai-sdk-agents",
        "AI SDK",
        'import { gate } from "@pausepoint/client/ai-sdk";',
        'tools: gate(tools, { tools: ["refund"], threadId })',
    ),
    _python(
        "google-adk",
        "Google ADK",
        "from pausepoint import AsyncDesk",
        "from pausepoint.google_adk import DeskPlugin",
        'plugins=[DeskPlugin(AsyncDesk(), "refund")]',
    ),
    _python(
        "agent-framework",
        "Microsoft Agent Framework",
        "from pausepoint import AsyncDesk",
        "from pausepoint.agent_framework import DeskMiddleware",
        'middleware=[DeskMiddleware(AsyncDesk(), "refund")]',
    ),
    _python(
        "crewai",
        "CrewAI",
        "from pausepoint import Desk",
        "from pausepoint.crewai import ask_before_tools",
        'ask_before_tools(Desk(), "refund", thread_id=thread_id)',
    ),
    _python(
        "llamaindex",
        "LlamaIndex workflows",
        "from pausepoint import AsyncDesk",
        "from pausepoint.llamaindex import run_with_desk",
        "await run_with_desk(workflow, AsyncDesk(), thread_id=thread_id)",
    ),
    _python(
        "strands",
        "Strands Agents",
        "from pausepoint import AsyncDesk",
        "from pausepoint.strands import DeskHook",
        'hooks=[DeskHook(AsyncDesk(), "refund")]',
    ),
    _python(
        "agno",
        "Agno",
        "from pausepoint import Desk",
        "from pausepoint.agno import DeskHook",
        'tool_hooks=[DeskHook(Desk(), "refund")]',
    ),
    _python(
        "haystack",
        "Haystack",
        "from pausepoint import Desk",
        "from pausepoint.haystack import DeskHook",
        'hooks=DeskHook(Desk(), "refund").hooks',
    ),
    Integration(
        "command-line",
        _("A shell script"),
        _python_client(),
        commands=(
            """pausepoint ask "Deploy 2.14?" --tool deploy --input '{"version": "2.14"}' --exec ./deploy.sh {version}""",
        ),
    ),
    Integration(
        "ask-from-any-agent",
        _("Anything else, over HTTP"),
        (),
        commands=(
            'curl "$PAUSEPOINT_URL/api/v1/requests" -H "Authorization: Bearer $PAUSEPOINT_KEY" '
            """-H 'Content-Type: application/json' -d '{"kind": "question", "title": "Deploy 2.14?"}'""",
        ),
    ),
)
