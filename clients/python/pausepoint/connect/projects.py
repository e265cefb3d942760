"""Find the coding agents that are installed or used in a project, and the frameworks it depends on."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pausepoint.connect.agents import (
    CLAUDE_CODE,
    CODEX,
    COPILOT,
    GEMINI_CLI,
    OPENCODE,
    QWEN_CODE,
    Agent,
)

#: Dependency files are read up to this size.
MAX_BYTES = 2_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework: its packages, the lines that connect it (the last one is for the agent), and its page."""

    name: str
    packages: frozenset[str]
    lines: tuple[str, ...]
    page: str


def _python(
    name: str, packages: str, desk: str, adapter: str, line: str, page: str
) -> Framework:
    imports = [f"from pausepoint import {desk}"]
    if adapter:
        module, _, imported = adapter.rpartition(".")
        imports.append(f"from pausepoint.{module} import {imported}")
    return Framework(name, frozenset(packages.split()), (*imports, line), page)


def _javascript(
    name: str, packages: str, lines: tuple[str, ...], page: str
) -> Framework:
    return Framework(name, frozenset(packages.split()), lines, page)


#: The lines run as they are; `agent`, `text`, `tools`, `workflow` and `thread_id` are the program's own.
PYTHON = (
    _python(
        "LangChain",
        "langchain langgraph",
        "Desk",
        "langchain.DeskApproval",
        'middleware=[DeskApproval(Desk(), "refund")]',
        "langchain",
    ),
    _python(
        "Pydantic AI",
        "pydantic-ai pydantic-ai-slim",
        "AsyncDesk",
        "pydantic_ai.HandleDeferredToolCalls",
        "capabilities=[HandleDeferredToolCalls(AsyncDesk())]",
        "pydantic-ai",
    ),
    _python(
        "OpenAI Agents",
        "openai-agents",
        "AsyncDesk",
        "openai_agents.run_with_desk",
        "await run_with_desk(agent, text, AsyncDesk(), thread_id=thread_id)",
        "openai-agents",
    ),
    _python(
        "Claude Agent SDK",
        "claude-agent-sdk",
        "AsyncDesk",
        "",
        "can_use_tool=AsyncDesk().can_use_tool",
        "claude-agent-sdk",
    ),
    _python(
        "CrewAI",
        "crewai",
        "Desk",
        "crewai.ask_before_tools",
        'ask_before_tools(Desk(), "refund", thread_id=thread_id)',
        "crewai",
    ),
    _python(
        "Google ADK",
        "google-adk",
        "AsyncDesk",
        "google_adk.DeskPlugin",
        'plugins=[DeskPlugin(AsyncDesk(), "refund")]',
        "google-adk",
    ),
    _python(
        "Microsoft Agent Framework",
        "agent-framework agent-framework-core",
        "AsyncDesk",
        "agent_framework.DeskMiddleware",
        'middleware=[DeskMiddleware(AsyncDesk(), "refund")]',
        "agent-framework",
    ),
    _python(
        "LlamaIndex",
        "llama-index llama-index-core llama-index-workflows",
        "AsyncDesk",
        "llamaindex.run_with_desk",
        "await run_with_desk(workflow, AsyncDesk(), thread_id=thread_id)",
        "llamaindex",
    ),
    _python(
        "Strands Agents",
        "strands-agents",
        "AsyncDesk",
        "strands.DeskHook",
        'hooks=[DeskHook(AsyncDesk(), "refund")]',
        "strands",
    ),
    _python(
        "Agno",
        "agno",
        "Desk",
        "agno.DeskHook",
        'tool_hooks=[DeskHook(Desk(), "refund")]',
        "agno",
    ),
    _python(
        "Haystack",
        "haystack-ai",
        "Desk",
        "haystack.DeskHook",
        'hooks=DeskHook(Desk(), "refund").hooks',
        "haystack",
    ),
)
#: Before version 7, the AI SDK ignores `toolApproval` and runs the tool; `gate` works with 5, 6 and 7.
JAVASCRIPT = (
    _javascript(
        "AI SDK",
        "ai",
        (
            'import { gate } from "@pausepoint/client/ai-sdk";',
            'tools: gate(tools, { tools: ["refund"], threadId })',
        ),
        "ai-sdk-agents",
    ),
    _javascript(
        "OpenAI Agents (JavaScript)",
        "@openai/agents @openai/agents-core",
        (
            'import { Desk } from "@pausepoint/client";',
            'import { runWithDesk } from "@pausepoint/client/openai-agents";',
            "await runWithDesk(agent, text, new Desk(), { threadId })",
        ),
        "openai-agents-js",
    ),
    _javascript(
        "LangChain (JavaScript)",
        "langchain @langchain/core @langchain/langgraph",
        (
            'import { gate } from "@pausepoint/client/langchain";',
            'tools: gate([refund], { tools: ["refund"] })',
        ),
        "langchain-js",
    ),
    _javascript(
        "Mastra",
        "@mastra/core",
        (
            'import { gate } from "@pausepoint/client/mastra";',
            'tools: gate({ refund }, { tools: ["refund"] })',
        ),
        "mastra",
    ),
    _javascript(
        "Genkit",
        "genkit",
        (
            'import { gate } from "@pausepoint/client/genkit";',
            'use: [gate({ tools: ["refund"], threadId })]',
        ),
        "genkit",
    ),
)


#: Files of a project that show that an agent is used in it.
TRACES = {
    CLAUDE_CODE: (".claude", ".mcp.json"),
    CODEX: (".codex",),
    GEMINI_CLI: (".gemini",),
    QWEN_CODE: (".qwen",),
    COPILOT: (".github/copilot",),
    OPENCODE: (".opencode", "opencode.json"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """The coding agents and frameworks that were found."""

    agents: tuple[Agent, ...]
    frameworks: tuple[Framework, ...]


def search(project: Path) -> Found:
    """Look for coding agents on the path and in the project, and for frameworks in its dependency files."""
    python, javascript = (
        set(_python_packages(project)),
        set(_javascript_packages(project)),
    )
    frameworks = [framework for framework in PYTHON if framework.packages & python] + [
        framework for framework in JAVASCRIPT if framework.packages & javascript
    ]
    return Found(
        agents=tuple(
            agent
            for agent, names in TRACES.items()
            if shutil.which(agent.program)
            or any((project / name).exists() for name in names)
        ),
        frameworks=tuple(frameworks),
    )


def _python_packages(project: Path) -> Iterator[str]:
    for file in sorted(project.glob("requirements*.txt")):
        for line in _text(file).splitlines():
            yield _package(line)
    try:
        document = tomllib.loads(_text(project / "pyproject.toml"))
    except tomllib.TOMLDecodeError:
        return
    about = _table(document.get("project"))
    groups = [
        about.get("dependencies"),
        *_table(about.get("optional-dependencies")).values(),
    ]
    groups += list(_table(document.get("dependency-groups")).values())
    for group in groups:
        for line in group if isinstance(group, list) else ():
            yield _package(line) if isinstance(line, str) else ""
    yield from map(
        _package,
        _table(_table(_table(document.get("tool")).get("poetry")).get("dependencies")),
    )


def _javascript_packages(project: Path) -> Iterator[str]:
    try:
        document = _table(json.loads(_text(project / "package.json") or "{}"))
    except ValueError:
        return
    for name in ("dependencies", "devDependencies"):
        yield from _table(document.get(name))


def _package(line: str) -> str:
    match = _NAME.match(line.strip())
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(file: Path) -> str:
    try:
        # A link may lead to a device or a pipe that never ends.
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""
