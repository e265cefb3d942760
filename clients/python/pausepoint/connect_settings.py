"""What `pausepoint connect` writes into the settings of coding agents. Pure: texts in, texts out; the rest of a file stays.

Claude Code calls Pausepoint itself (HTTP). Codex has command hooks only, so it runs `pausepoint hook codex`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

#: Seconds after which the agents give a hook up; Pausepoint closes its answer before that.
TIMEOUT = 600
#: The events of Claude Code: every call that matches, the questions of MCP servers, and what the calls have done.
CLAUDE_EVENTS = ("PreToolUse", "Elicitation", "PostToolUse", "PostToolUseFailure")
#: Seconds for reports, for which nobody waits.
REPORTING = 60
KEY = "PAUSEPOINT_KEY"
#: What hooks of ours call, by which they are recognized whatever the server is.
_OURS = re.compile(r"/api/v1/hooks/claude-code(?:\?|\Z)|\bpausepoint\b.*\bhook claude-code\b")
BEGIN, END = "# Pausepoint: begin. `pausepoint connect --remove` removes these lines.", "# Pausepoint: end"
_BLOCK = re.compile(rf"\n*^{re.escape(BEGIN)}$.*?^{re.escape(END)}$\n?", re.MULTILINE | re.DOTALL)


class CannotChange(Exception):
    """The file is not what the agent could read, so it is left as it is."""


def claude_hook(address: str, event: str = "PreToolUse", *, defer: bool = False) -> dict[str, Any]:
    """Return the hook for an event. Without `onFailure`, a call would run while Pausepoint cannot be reached.

    What has run already cannot be blocked, so a report that fails is only shown.
    """
    reports = event.startswith("Post")
    return {
        "type": "http",
        "url": f"{address}/api/v1/hooks/claude-code{'?wait=defer' if defer and event == 'PreToolUse' else ''}",
        "headers": {"Authorization": f"Bearer ${KEY}"},
        "allowedEnvVars": [KEY],
        "timeout": REPORTING if reports else TIMEOUT,
        "onFailure": "continue" if reports else "block",
    }


def claude_settings(text: str, address: str, *, defer: bool = False) -> str:
    """Return a `settings.json` with our hooks, whether it had some before or not."""
    settings = _object(text)
    if settings.get("disableAllHooks"):
        raise CannotChange("it has disableAllHooks, with which every call runs unasked")
    hooks = _without_ours(settings.get("hooks", {}))
    for event in CLAUDE_EVENTS:
        # Only tool calls can be deferred.
        one = claude_hook(address, event, defer=defer)
        hooks[event] = [*hooks.get(event, []), {"matcher": "*", "hooks": [one]}]
    return _written({**settings, "hooks": hooks}, text)


def claude_settings_without(text: str) -> str:
    """Return a `settings.json` without our hooks; empty if there is nothing else in it."""
    settings = _object(text)
    hooks = _without_ours(settings.get("hooks", {}))
    if hooks == settings.get("hooks", {}):
        return text
    kept = (
        {name: value for name, value in settings.items() if name != "hooks"}
        if not hooks
        else settings | {"hooks": hooks}
    )
    return _written(kept, text) if kept else ""


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise CannotChange(f"it is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise CannotChange("it is not a JSON object")
    if not isinstance(found.get("hooks", {}), dict):
        raise CannotChange("its hooks are not a JSON object")
    return found


def _without_ours(hooks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hooks without ours, and without the lists that held nothing else."""
    found: dict[str, Any] = {}
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise CannotChange(f"its hooks for {event} are not a list")
        kept = [left for group in groups for left in _group_without_ours(group)]
        if kept or not groups:
            found[event] = kept
    return found


def _group_without_ours(group: Any) -> list[Any]:
    """Return a group without our hooks; nothing if there were no others in it."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list):
        return [group]
    kept = [hook for hook in hooks if not _is_ours(hook)]
    if len(kept) == len(hooks):
        return [group]
    return [{**group, "hooks": kept}] if kept else []


def _is_ours(hook: Any) -> bool:
    if not isinstance(hook, dict):
        return False
    return any(_OURS.search(text) for name in ("url", "command") if isinstance(text := hook.get(name), str))


def _written(value: Mapping[str, Any], before: str) -> str:
    """Return JSON with the indentation of the file as it was."""
    found = re.search(r"^[ \t]+(?=\")", before, re.MULTILINE)
    text = json.dumps(value, indent=found[0] if found else 2, ensure_ascii=False)
    return text if before and not before.endswith("\n") else text + "\n"


def codex_block(command: str) -> str:
    """Return the lines for Codex. The shell turns an end of any other kind into exit code 2, which blocks."""
    words = "Pausepoint could not be asked, so this was not run."
    whole = f"{command} hook codex || {{ echo '{words}' >&2; exit 2; }}"
    tables = [
        _codex_table("PreToolUse", whole, TIMEOUT),
        _codex_table("PostToolUse", f"{command} hook codex", REPORTING),
    ]
    return f"{BEGIN}\n{chr(10).join(tables)}{END}\n"


def _codex_table(event: str, command: str, timeout: int) -> str:
    lines = [
        f"[[hooks.{event}]]",
        'matcher = "*"',
        "",
        f"[[hooks.{event}.hooks]]",
        'type = "command"',
        f"command = {json.dumps(command, ensure_ascii=False)}",
        f"timeout = {timeout}",
    ]
    return "\n".join(lines) + "\n"


def codex_config(text: str, command: str) -> str:
    """Return a `config.toml` with our hook at its end."""
    _check_toml(text)
    rest, block = codex_config_without(text), codex_block(command)
    found = f"{rest.rstrip(chr(10))}\n\n{block}" if rest.strip() else block
    _check_toml(found, "its hooks are written in a form that cannot be added to")
    return found


def codex_config_without(text: str) -> str:
    """Return a `config.toml` without our hook; empty if there is nothing else in it."""
    found = _BLOCK.sub("\n", text).lstrip("\n") if BEGIN in text else text
    return found if found.strip() else ""


def _check_toml(text: str, words: str = "it is not TOML") -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotChange(f"{words}: {error}") from error
