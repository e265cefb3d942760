"""The supported coding agents: versions that obey hooks, and settings that disable hooks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pausepoint import strict_json
from pausepoint.connect.files import CannotChange, read

#: Time limit of `claude --version`, in seconds.
PATIENCE = 30
#: Folders of an organization's settings.
CLAUDE_MANAGED = {
    "darwin": Path("/Library/Application Support/ClaudeCode"),
    "win32": Path("C:/Program Files/ClaudeCode"),
}.get(sys.platform, Path("/etc/claude-code"))
CODEX_MANAGED = Path("/etc/codex")


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent. Versions before `oldest` run calls even if the hook denies them or fails."""

    name: str
    title: str
    program: str
    oldest: tuple[int, int, int]

    @property
    def oldest_version(self) -> str:
        return ".".join(map(str, self.oldest))


CLAUDE_CODE = Agent("claude-code", "Claude Code", "claude", (2, 1, 197))
CODEX = Agent("codex", "Codex", "codex", (0, 141, 0))
AGENTS = {agent.name: agent for agent in (CLAUDE_CODE, CODEX)}


def check(agent: Agent, project: Path) -> None:
    """Raise CannotChange if hooks of this agent would stop nothing in the project."""
    _check_version(agent)
    for file in (
        _claude_files(project) if agent is CLAUDE_CODE else _codex_files(project)
    ):
        try:
            switch = (
                _claude_switch(file) if agent is CLAUDE_CODE else _codex_switch(file)
            )
        except (CannotChange, OSError, UnicodeDecodeError) as error:
            raise CannotChange(
                f"{file} cannot be read, and may switch hooks off: {error}"
            ) from error
        if switch:
            raise CannotChange(
                f"{file} has {switch}, with which every call runs unasked"
            )


def _check_version(agent: Agent) -> None:
    program = shutil.which(agent.program)
    if program is None:
        return
    try:
        command = [program, "--version"]
        out = subprocess.run(  # noqa: S603 - the agent that its user starts by this name
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise CannotChange(
            f"the version of {program} cannot be read: {error}"
        ) from error
    version = re.search(r"\b(\d+)\.(\d+)\.(\d+)", out, re.ASCII)
    if version is None:
        raise CannotChange(
            f"the version of {program} cannot be read: it says {out[:80]!r}"
        )
    if tuple(map(int, version.groups())) < agent.oldest:
        raise CannotChange(
            f"{program} is {agent.title} {version[0]}, which may run calls that no one has approved. "
            f"Update it: {agent.oldest_version} is the oldest version that is supported"
        )


def claude_folder() -> Path:
    """Return the folder of the user's own settings."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def codex_folder() -> Path:
    """Return the folder of the user's own settings."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def _claude_files(project: Path) -> Iterator[Path]:
    """Yield every settings file that Claude Code reads in a project."""
    for name in ("settings.json", "settings.local.json"):
        yield project / ".claude" / name
    yield claude_folder() / "settings.json"
    yield from _claude_managed()


def _claude_managed() -> list[Path]:
    return [
        claude_folder() / "remote-settings.json",
        CLAUDE_MANAGED / "managed-settings.json",
        *sorted((CLAUDE_MANAGED / "managed-settings.d").glob("*.json")),
    ]


def _claude_switch(file: Path) -> str:
    """Return the member of the settings that disables our hooks, if there is one."""
    settings = claude_object(read(file))
    if _is_on(settings.get("disableAllHooks")):
        return "disableAllHooks"
    if file not in _claude_managed():
        return ""
    if _is_on(settings.get("allowManagedHooksOnly")):
        return "allowManagedHooksOnly"
    plugins_only = settings.get("strictPluginOnlyCustomization")
    closed = (
        "hooks" in plugins_only
        if isinstance(plugins_only, list)
        else _is_on(plugins_only)
    )
    return "strictPluginOnlyCustomization" if closed else ""


def _is_on(value: Any) -> bool:
    """Return whether a switch is on. Anything that is not clearly off may be read as on."""
    return value not in (None, False, "false")


def claude_object(text: str) -> dict[str, Any]:
    """Return the settings in a text. Raise CannotChange if it is not one JSON object."""
    try:
        settings = strict_json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise CannotChange(f"it is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise CannotChange("it is not a JSON object")
    return settings


def _codex_files(project: Path) -> Iterator[Path]:
    """Yield every settings file that Codex reads in a project."""
    yield codex_folder() / "config.toml"
    yield project / ".codex" / "config.toml"
    for name in ("config.toml", "managed_config.toml", "requirements.toml"):
        yield CODEX_MANAGED / name


def _codex_switch(file: Path) -> str:
    try:
        settings = tomllib.loads(read(file))
    except tomllib.TOMLDecodeError as error:
        raise CannotChange(f"it is not TOML: {error}") from error
    if settings.get("allow_managed_hooks_only"):
        return "allow_managed_hooks_only"
    profiles = settings.get("profiles")
    for table in (settings, *(profiles.values() if isinstance(profiles, dict) else ())):
        features = table.get("features") if isinstance(table, dict) else None
        for name in ("hooks", "codex_hooks"):
            if isinstance(features, dict) and features.get(name) is False:
                return f"{name} = false in its features"
    return ""
