"""What `pausepoint connect` finds: coding agents, installed or used in a project, and the frameworks it depends on."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pausepoint.connect.agents import CLAUDE_CODE, CODEX, Agent

#: Files of dependencies are not read beyond this.
MAX_BYTES = 2_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework by its packages, with the one line that connects it and the page that explains it."""

    name: str
    packages: frozenset[str]
    line: str
    page: str


def _framework(name: str, packages: str, line: str, page: str) -> Framework:
    return Framework(name, frozenset(packages.split()), line, page)


PYTHON = (
    _framework("LangChain", "langchain langgraph", 'middleware=[DeskApproval(desk, "refund")]', "langchain"),
    _framework(
        "Pydantic AI",
        "pydantic-ai pydantic-ai-slim",
        "capabilities=[HandleDeferredToolCalls(desk)]",
        "pydantic-ai",
    ),
    _framework("OpenAI Agents", "openai-agents", "await run_with_desk(agent, text, desk)", "openai-agents"),
    _framework("Claude Agent SDK", "claude-agent-sdk", "can_use_tool=desk.can_use_tool", "claude-agent-sdk"),
    _framework("CrewAI", "crewai", 'ask_before_tools(desk, "refund")', "crewai"),
    _framework("Google ADK", "google-adk", 'plugins=[DeskPlugin(desk, "refund")]', "google-adk"),
    _framework(
        "Microsoft Agent Framework",
        "agent-framework agent-framework-core",
        'middleware=[DeskMiddleware(desk, "refund")]',
        "agent-framework",
    ),
    _framework(
        "LlamaIndex",
        "llama-index llama-index-core llama-index-workflows",
        "await run_with_desk(workflow, desk)",
        "llamaindex",
    ),
)
JAVASCRIPT = (
    _framework("AI SDK", "ai", 'tools: gate(tools, { tools: ["refund"] })', "ai-sdk-agents"),
    _framework(
        "OpenAI Agents (JavaScript)",
        "@openai/agents @openai/agents-core",
        "await runWithDesk(agent, text, new Desk())",
        "openai-agents-js",
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """The coding agents and the frameworks that were found."""

    agents: tuple[Agent, ...]
    frameworks: tuple[Framework, ...]


def search(project: Path) -> Found:
    """Look for coding agents on the path and in the project, and for frameworks in its files of dependencies."""
    traces = {CLAUDE_CODE: (".claude", ".mcp.json"), CODEX: (".codex",)}
    python, javascript = set(_python_packages(project)), set(_javascript_packages(project))
    frameworks = [one for one in PYTHON if one.packages & python] + [
        one for one in JAVASCRIPT if one.packages & javascript
    ]
    return Found(
        agents=tuple(
            agent
            for agent, names in traces.items()
            if shutil.which(agent.program) or any((project / name).exists() for name in names)
        ),
        frameworks=tuple(frameworks),
    )


def _python_packages(project: Path) -> Iterator[str]:
    for file in sorted(project.glob("requirements*.txt")):
        for line in _text(file).splitlines():
            yield _package(line)
    try:
        found = tomllib.loads(_text(project / "pyproject.toml"))
    except tomllib.TOMLDecodeError:
        return
    about = _table(found.get("project"))
    groups = [about.get("dependencies"), *_table(about.get("optional-dependencies")).values()]
    groups += list(_table(found.get("dependency-groups")).values())
    for group in groups:
        for line in group if isinstance(group, list) else ():
            yield _package(line) if isinstance(line, str) else ""
    yield from map(_package, _table(_table(_table(found.get("tool")).get("poetry")).get("dependencies")))


def _javascript_packages(project: Path) -> Iterator[str]:
    try:
        found = _table(json.loads(_text(project / "package.json") or "{}"))
    except ValueError:
        return
    for name in ("dependencies", "devDependencies"):
        yield from _table(found.get(name))


def _package(line: str) -> str:
    found = _NAME.match(line.strip())
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(file: Path) -> str:
    try:
        # A link may lead to a device or a pipe, which never ends.
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""
