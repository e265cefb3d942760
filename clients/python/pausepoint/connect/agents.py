"""The supported coding agents: versions that obey hooks, and settings that disable hooks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
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
GEMINI_MANAGED = Path("/etc/gemini-cli")
QWEN_MANAGED = Path("/etc/qwen-code")


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
GEMINI_CLI = Agent("gemini-cli", "Gemini CLI", "gemini", (0, 40, 1))
QWEN_CODE = Agent("qwen-code", "Qwen Code", "qwen", (0, 23, 0))
COPILOT = Agent("copilot", "Copilot CLI", "copilot", (1, 0, 70))
OPENCODE = Agent("opencode", "opencode", "opencode", (1, 15, 0))
AGENTS = {
    agent.name: agent
    for agent in (CLAUDE_CODE, CODEX, GEMINI_CLI, QWEN_CODE, COPILOT, OPENCODE)
}


def check(agent: Agent, project: Path) -> None:
    """Raise CannotChange if hooks of this agent would stop nothing in the project."""
    _check_version(agent)
    if agent not in _SWITCHES:
        return
    files, switch_of = _SWITCHES[agent]
    for file in files(project):
        try:
            switch = switch_of(file)
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


def gemini_folder() -> Path:
    """Return the folder of the user's own settings."""
    return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"


def qwen_folder() -> Path:
    """Return the folder of the user's own settings."""
    return Path(os.environ.get("QWEN_HOME") or Path.home() / ".qwen")


def copilot_folder() -> Path:
    """Return the folder of the user's own settings."""
    return Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")


def opencode_folder() -> Path:
    """Return the folder of the user's own settings."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "opencode"


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
    settings = settings_object(read(file))
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


def settings_object(text: str) -> dict[str, Any]:
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


def _gemini_files(project: Path) -> Iterator[Path]:
    """Yield every settings file that Gemini CLI reads in a project."""
    yield gemini_folder() / "settings.json"
    yield project / ".gemini" / "settings.json"
    for name in ("settings.json", "system-defaults.json"):
        yield GEMINI_MANAGED / name


def _gemini_switch(file: Path) -> str:
    switches = settings_object(read(file)).get("hooksConfig")
    if not isinstance(switches, dict):
        return ""
    if switches.get("enabled", True) is not True:
        return "hooksConfig.enabled"
    return "hooksConfig.disabled" if switches.get("disabled") else ""


def _qwen_files(project: Path) -> Iterator[Path]:
    """Yield every settings file that Qwen Code reads in a project."""
    yield qwen_folder() / "settings.json"
    yield project / ".qwen" / "settings.json"
    for name in ("settings.json", "system-defaults.json"):
        yield QWEN_MANAGED / name


def _copilot_files(project: Path) -> Iterator[Path]:
    """Yield every settings file of Copilot CLI, in which hooks can be switched off."""
    for name in ("settings.json", "config.json"):
        yield copilot_folder() / name
    for name in ("settings.json", "settings.local.json"):
        yield project / ".github" / "copilot" / name


def _all_hooks_switch(file: Path) -> str:
    switch = settings_object(read(file)).get("disableAllHooks")
    return "disableAllHooks" if _is_on(switch) else ""


#: The settings in which each agent can switch hooks off; opencode has no such switch.
_SWITCHES: Mapping[
    Agent, tuple[Callable[[Path], Iterable[Path]], Callable[[Path], str]]
] = {
    CLAUDE_CODE: (_claude_files, _claude_switch),
    CODEX: (_codex_files, _codex_switch),
    GEMINI_CLI: (_gemini_files, _gemini_switch),
    QWEN_CODE: (_qwen_files, _all_hooks_switch),
    COPILOT: (_copilot_files, _all_hooks_switch),
}
