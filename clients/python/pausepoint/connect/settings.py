"""Edit the settings of coding agents for `pausepoint connect`. Pure: texts in, texts out; the rest of a file stays.

All agents run the command `pausepoint hook`. Claude Code could call Pausepoint itself (HTTP), but before 2.1.295 it runs the
call if that fails, and in every version it treats a `{}` from any server as "not gated".
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from pausepoint.connect.agents import AGENTS, settings_object
from pausepoint.connect.files import CannotChange

#: Seconds after which agents give up on a hook; Pausepoint answers before that.
TIMEOUT = 600
#: Claude Code's events: every matching call, questions of MCP servers, and results of calls.
CLAUDE_EVENTS = ("PreToolUse", "Elicitation", "PostToolUse", "PostToolUseFailure")
#: The event needed in addition for deferring calls: otherwise a prompt that resumes a session before the decision would reach the
#: model, and Claude Code would never ask about the deferred call again.
PROMPT = "UserPromptSubmit"
#: Seconds for reports, for which no one waits.
REPORTING = 60
KEY = "PAUSEPOINT_KEY"
#: The variables of the hook, which Gemini CLI hides from hooks in CI, and the place in its settings that lets them through.
NAMES = (KEY, "PAUSEPOINT_URL")
_ALLOWED = ("security", "environmentVariableRedaction", "allowed")
#: The first line of the plugin for opencode.
PLUGIN_MARK = "// Pausepoint: `pausepoint connect --remove` removes this file."
BLOCKED = "Pausepoint could not be asked, so this was not run."
#: Recognizes our hooks for any server.
_OURS = re.compile(rf"\bpausepoint\b.*\bhook (?:{'|'.join(AGENTS)})\b")
#: Codex's events: every matching call, and results of calls.
CODEX_EVENTS = ("PreToolUse", "PostToolUse")
MARK = "# Pausepoint: `pausepoint connect --remove` removes these hooks."
_MARKS = re.compile(rf"^{re.escape(MARK)}$\n?", re.MULTILINE)
#: A group with one hook, in the form of `_codex_table`, with any values.
_TABLES = re.compile(
    rf"^(?P<space>\n*)\[\[hooks\.(?P<event>{'|'.join(CODEX_EVENTS)})\]\]\n(?:^(?:\w+[ \t]*=.*)?\n)*"
    r"^\[\[hooks\.(?P=event)\.hooks\]\]\n(?:^\w+[ \t]*=.*(?:\n|\Z))*",
    re.MULTILINE,
)


def blocking(command: str) -> str:
    """Return a shell command that turns every failure into exit code 2, which blocks."""
    return f"{command} || {{ echo '{BLOCKED}' >&2; exit 2; }}"


def claude_hook(
    command: str, event: str = "PreToolUse", *, defer: bool = False
) -> dict[str, Any]:
    """Return the hook for an event. `onFailure` also blocks if the shell itself is killed, in versions that support it.

    A call that has already run cannot be blocked, so a failed report is only shown.
    """
    asking = f"{command} hook claude-code"
    if event.startswith("Post"):
        return {
            "type": "command",
            "command": asking,
            "timeout": REPORTING,
            "onFailure": "continue",
        }
    # Only tool calls can be deferred.
    deferring = " --defer" if defer and event == "PreToolUse" else ""
    return {
        "type": "command",
        "command": blocking(asking + deferring),
        "timeout": TIMEOUT,
        "onFailure": "block",
    }


def claude_settings(text: str, command: str, *, defer: bool = False) -> str:
    """Return a `settings.json` with our hooks, whether or not it had some before."""
    events = (*CLAUDE_EVENTS, PROMPT) if defer else CLAUDE_EVENTS
    ours = {event: claude_hook(command, event, defer=defer) for event in events}
    return _with_hooks(text, ours)


def gemini_settings(text: str, command: str) -> str:
    """Return a `settings.json` of Gemini CLI with our hooks, and the variables that they need where it hides the environment."""
    asking = f"{command} hook gemini-cli"
    settings = _object(
        _with_hooks(text, _milliseconds("BeforeTool", "AfterTool", asking))
    )
    allowed = _allowed_names(settings)
    names = [*allowed, *(name for name in NAMES if name not in allowed)]
    return _written(_with_allowed_names(settings, names), text)


def gemini_settings_without(text: str) -> str:
    """Return a `settings.json` of Gemini CLI without our hooks and variables; empty if there is nothing else in it."""
    without = settings_without(text)
    if without == text or not without:
        return without
    settings = _object(without)
    names = [name for name in _allowed_names(settings) if name not in NAMES]
    kept = _with_allowed_names(settings, names)
    return _written(kept, text) if kept else ""


def qwen_settings(text: str, command: str) -> str:
    """Return a `settings.json` of Qwen Code with our hooks. Every version takes 600000 as ten minutes."""
    asking = f"{command} hook qwen-code"
    return _with_hooks(text, _milliseconds("PreToolUse", "PostToolUse", asking))


def _milliseconds(before: str, after: str, asking: str) -> dict[str, dict[str, Any]]:
    """Return the hooks of an agent that counts in milliseconds, by event."""
    return {
        event: {
            "type": "command",
            "name": "pausepoint",
            "command": run,
            "timeout": seconds * 1000,
        }
        for event, run, seconds in (
            (before, blocking(asking), TIMEOUT),
            (after, asking, REPORTING),
        )
    }


def _with_hooks(text: str, ours: Mapping[str, Mapping[str, Any]]) -> str:
    """Return settings with these hooks, one for each event, for all tools."""
    settings = _object(text)
    hooks = _without_ours(settings.get("hooks", {}))
    for event, hook in ours.items():
        group = {"matcher": "*", "hooks": [hook]}
        hooks[event] = [*hooks.get(event, []), group]
    return _written({**settings, "hooks": hooks}, text)


def settings_without(text: str) -> str:
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


def _allowed_names(settings: Mapping[str, Any]) -> list[Any]:
    """Return the variables that Gemini CLI passes on in CI. Raise CannotChange for another form."""
    place: Any = settings
    for name in _ALLOWED:
        place = place.get(name, {}) if isinstance(place, dict) else None
    names = place or []
    if not isinstance(names, list):
        raise CannotChange(f"its {'.'.join(_ALLOWED)} is not a list")
    return names


def _with_allowed_names(
    settings: Mapping[str, Any], names: list[Any]
) -> dict[str, Any]:
    """Return the settings with these variables, without members left empty."""
    security, redaction, allowed = _ALLOWED
    outer = settings.get(security, {})
    inner = outer.get(redaction, {}) if isinstance(outer, dict) else None
    if not isinstance(inner, dict):
        raise CannotChange(f"its {security} is not in the form of Gemini CLI")
    inner = _with_member(inner, allowed, names)
    return _with_member(settings, security, _with_member(outer, redaction, inner))


def _with_member(value: Mapping[str, Any], name: str, member: Any) -> dict[str, Any]:
    others = {key: kept for key, kept in value.items() if key != name}
    return {**value, name: member} if member else others


def copilot_hooks(text: str, command: str) -> str:
    """Return our own hook file of Copilot CLI, whose events have the names and the form of Claude Code."""
    asking = f"{command} hook copilot"
    hooks = {
        event: [{"type": "command", "bash": run, "timeoutSec": seconds}]
        for event, run, seconds in (
            ("PreToolUse", blocking(asking), TIMEOUT),
            ("PostToolUse", asking, REPORTING),
        )
    }
    _require_ours(text)
    return _written({"version": 1, "hooks": hooks}, "")


def opencode_plugin(text: str, command: str) -> str:
    """Return our own plugin of opencode, which runs the command."""
    _require_ours(text)
    values = {"ASKING": f"{command} hook opencode", "SECONDS": TIMEOUT}
    lines = [f"const {name} = {json.dumps(value)};" for name, value in values.items()]
    plugin = files("pausepoint.connect").joinpath("opencode_plugin.js").read_text()
    return "\n".join([PLUGIN_MARK, *lines, plugin])


def nothing(text: str) -> str:
    """Return no text in place of a file of our own. Raise CannotChange if it is not ours."""
    _require_ours(text)
    return ""


def _require_ours(text: str) -> None:
    if text and not _OURS.search(text):
        raise CannotChange("it was not written by Pausepoint")


def _object(text: str) -> dict[str, Any]:
    settings = settings_object(text)
    if not isinstance(settings.get("hooks", {}), dict):
        raise CannotChange("its hooks are not a JSON object")
    return settings


def _without_ours(hooks: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hooks without ours, and without lists left empty."""
    others: dict[str, Any] = {}
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise CannotChange(f"its hooks for {event} are not a list")
        kept = [left for group in groups for left in _group_without_ours(group)]
        if kept or not groups:
            others[event] = kept
    return others


def _group_without_ours(group: Any) -> list[Any]:
    """Return a group without our hooks; nothing if it had no others."""
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
    return any(
        _OURS.search(text)
        for name in ("url", "command")
        if isinstance(text := hook.get(name), str)
    )


def _written(value: Mapping[str, Any], before: str) -> str:
    """Return JSON with the indentation of the original file."""
    indentation = re.search(r"^[ \t]+(?=\")", before, re.MULTILINE)
    text = json.dumps(
        value, indent=indentation[0] if indentation else 2, ensure_ascii=False
    )
    return text if before and not before.endswith("\n") else text + "\n"


def _codex_tables(command: str) -> dict[str, str]:
    """Return the lines of each event for Codex."""
    asking = f"{command} hook codex"
    before, after = CODEX_EVENTS
    return {
        before: f"{MARK}\n{_codex_table(before, blocking(asking), TIMEOUT)}",
        after: _codex_table(after, asking, REPORTING),
    }


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


class CodexConfig(NamedTuple):
    """The contents of a `config.toml`: our hooks, each with its event and group, and everything else."""

    ours: list[tuple[str, dict[str, Any]]]
    others: dict[str, Any]


def codex_config(text: str, command: str) -> str:
    """Return a `config.toml` with our hooks, in their old place or at the end."""
    return _codex_changed(text, _codex_tables(command))


def codex_config_without(text: str) -> str:
    """Return a `config.toml` without our hooks; empty if there is nothing else in it."""
    return _codex_changed(text, {})


def _codex_changed(text: str, tables: Mapping[str, str]) -> str:
    """Return the text with `tables` in place of our hooks. Raise CannotChange if that would change anything else."""
    before, wanted = (
        _codex_read(text, "it is not TOML"),
        _codex_read("\n".join(tables.values()), ""),
    )
    if before.ours == wanted.ours and (tables or not _MARKS.search(text)):
        return text
    left = dict(tables)

    def replaced(match: re.Match[str]) -> str:
        # In the same place, because Codex trusts hooks by position: others stay trusted.
        if not _is_ours_alone(match[0]):
            return match[0]
        new = left.pop(match["event"], "")
        return new and match["space"] + new

    changed = _TABLES.sub(replaced, _MARKS.sub("", text)).lstrip("\n")
    if left:
        changed = "\n".join(
            [
                *([changed.rstrip("\n") + "\n"] if changed.strip() else []),
                *left.values(),
            ]
        )
    problem = "its hooks are written in a form that cannot be changed"
    if _codex_read(changed, problem) != CodexConfig(wanted.ours, before.others):
        raise CannotChange(problem)
    return changed if changed.strip() else ""


def _codex_read(text: str, problem: str) -> CodexConfig:
    """Parse the text. Raise CannotChange with the message `problem` if it is not TOML."""
    try:
        # Fractions as texts, because NaN would not equal itself.
        document = tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise CannotChange(f"{problem}: {error}") from error
    hooks = document.get("hooks")
    if not isinstance(hooks, dict):
        return CodexConfig([], document)
    lists = {
        event: groups
        for event in CODEX_EVENTS
        if isinstance(groups := hooks.get(event), list)
    }
    ours = [
        (event, {**group, "hooks": [hook]})
        for event, groups in lists.items()
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for hook in group["hooks"]
        if _is_ours(hook)
    ]
    kept = {
        name: value for name, value in hooks.items() if name not in lists
    } | _without_ours(lists)
    others = {name: value for name, value in document.items() if name != "hooks"}
    return CodexConfig(ours, others | {"hooks": kept} if kept else others)


def _is_ours_alone(tables: str) -> bool:
    try:
        return not _without_ours(tomllib.loads(tables)["hooks"])
    except tomllib.TOMLDecodeError:
        return False
