"""Projects to connect, with everything around them that a coding agent reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from pausepoint.cli import main
from pausepoint.connect import agents

#: The files that `pausepoint connect` writes below the home of its user.
FILES = {
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "qwen-code": ".qwen/settings.json",
    "copilot": ".copilot/hooks/pausepoint.json",
    "opencode": ".config/opencode/plugin/pausepoint.js",
}
#: Variables that move these folders.
MOVED = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME")


def made_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project, with a home, the settings of an organization and an empty PATH beside it."""
    for name in ("project", "home/.claude", "home/.codex", "organization/managed-settings.d", "programs"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    for name in MOVED:
        monkeypatch.delenv(name, raising=False)
    for name in ("CLAUDE_MANAGED", "CODEX_MANAGED", "GEMINI_MANAGED", "QWEN_MANAGED"):
        monkeypatch.setattr(agents, name, tmp_path / "organization")
    return tmp_path / "project"


def connect(project: Path, *options: str, agent: str = "claude-code") -> int:
    address = ("--url", "https://desk.example.org", "--key", "pp_key")
    arguments = ("connect", "--no-test", "--yes", "--agent", agent, "--project", str(project), *options)
    return main([*address, *arguments])


def install(project: Path, program: str, says: str, ends: int = 0) -> None:
    file = project.parent / "programs" / program
    file.write_text(f"#!/bin/sh\necho '{says}'\nexit {ends}\n")
    file.chmod(0o755)


def settings_of(agent: str, project: Path) -> Path:
    """Return the file that `pausepoint connect` writes for an agent."""
    return project / ".claude/settings.json" if agent == "claude-code" else project.parent / "home" / FILES[agent]
