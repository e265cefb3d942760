"""How each coding agent is set up: its settings file, how our hooks come into it and leave it, and what its user has to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pausepoint.connect import agents, settings
from pausepoint.connect.agents import (
    CLAUDE_CODE,
    CODEX,
    COPILOT,
    GEMINI_CLI,
    OPENCODE,
    QWEN_CODE,
    Agent,
)
from pausepoint.connect.settings import KEY

_BLOCKS = f"Set {KEY} where {{title}} runs: without it every call is blocked.\n"


@dataclass(frozen=True, slots=True)
class Setup:
    """`file` is in the folder of the user's own settings; `add` and `remove` change its text; `then` is told after writing.

    `in_project`: the file is one of the project, unless the user chooses their own.
    """

    agent: Agent
    file: Callable[[], Path]
    add: Callable[..., str]
    remove: Callable[[str], str]
    then: str
    in_project: str = ""


def _told(agent: Agent, more: str) -> str:
    return _BLOCKS.format(title=agent.title) + more


SETUPS = {
    setup.agent: setup
    for setup in (
        Setup(
            CLAUDE_CODE,
            lambda: agents.claude_folder() / "settings.json",
            settings.claude_settings,
            settings.settings_without,
            _told(
                CLAUDE_CODE,
                "Everyone who uses these settings needs Claude Code "
                f"{CLAUDE_CODE.oldest_version} or later, and this command.",
            ),
            in_project=".claude/settings.json",
        ),
        Setup(
            CODEX,
            lambda: agents.codex_folder() / "config.toml",
            settings.codex_config,
            settings.codex_config_without,
            f"""Codex does not run a new hook before you have trusted it, and runs commands unasked until then.
Start `codex`, enter /hooks and trust the hook of Pausepoint; the same again after each change of it.
In CI: codex exec --dangerously-bypass-hook-trust.
Codex before {CODEX.oldest_version} runs commands unasked in spite of it.""",
        ),
        Setup(
            GEMINI_CLI,
            lambda: agents.gemini_folder() / "settings.json",
            settings.gemini_settings,
            settings.gemini_settings_without,
            _told(
                GEMINI_CLI,
                "Gemini CLI without `--yolo` also asks in the terminal.",
            ),
        ),
        Setup(
            QWEN_CODE,
            lambda: agents.qwen_folder() / "settings.json",
            settings.qwen_settings,
            settings.settings_without,
            _told(
                QWEN_CODE,
                "Qwen Code ignores a changed input: the model is told to make the call again with the change.\n"
                "With `--bare` it runs no hooks, and every call runs unasked.",
            ),
        ),
        Setup(
            COPILOT,
            lambda: agents.copilot_folder() / "hooks" / "pausepoint.json",
            settings.copilot_hooks,
            settings.nothing,
            _told(
                COPILOT,
                f"Copilot CLI before {COPILOT.oldest_version} runs a call if its hook fails.",
            ),
        ),
        Setup(
            OPENCODE,
            lambda: agents.opencode_folder() / "plugin" / "pausepoint.js",
            settings.opencode_plugin,
            settings.nothing,
            _told(
                OPENCODE,
                "opencode skips a plugin that it cannot load without a word, and with `--pure` it loads none: every call "
                "runs unasked then.",
            ),
        ),
    )
}
