"""The proof at the end of `pausepoint connect`: the hook runs once by itself, and its denial is one that the agent obeys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from pausepoint.connect.agents import Agent
from pausepoint.hook.command import BLOCK
from pausepoint.hook.forms import BEFORE, GEMINI_EVENTS

#: The tool of the harmless call, about which no one has to be asked for long.
TOOL = "connection_test"
#: Seconds for which the hook waits, and for which the proof waits for the hook.
WAITS, PATIENCE = "1s", 60


class NotProven(Exception):
    """The hook did not deny the call; the message has its answer."""


def prove(agent: Agent, url: str | None, key: str | None, project: Path) -> str:
    """Run the hook of an agent with a harmless call that no one approves. Return its outcome in words; raise NotProven."""
    event = next(iter(GEMINI_EVENTS)) if agent.name == "gemini-cli" else BEFORE
    report = {
        "hook_event_name": event,
        "session_id": f"pausepoint connect {uuid.uuid4()}",
        "tool_use_id": uuid.uuid4().hex,
        "tool_name": TOOL,
        "tool_input": {},
        "cwd": str(project.absolute()),
    }
    variables = {"PAUSEPOINT_URL": url, "PAUSEPOINT_KEY": key}
    words = ("hook", agent.name, "--give-up-after", WAITS)
    ended = subprocess.run(  # noqa: S603 - this program itself
        [sys.executable, "-m", "pausepoint.cli", *words],
        input=json.dumps(report),
        capture_output=True,
        text=True,
        env=os.environ | {name: value for name, value in variables.items() if value},
        timeout=PATIENCE,
        check=False,
    )
    if ended.returncode == BLOCK:
        raise NotProven(ended.stderr.strip())
    answer: dict[str, Any] = json.loads(ended.stdout or "null") or {}
    if not answer:
        return f"the lists of the key let {TOOL} run without asking, so nothing was denied."
    output = answer.get("hookSpecificOutput", {})
    if "deny" not in (answer.get("decision"), output.get("permissionDecision")):
        raise NotProven(f"It answered {ended.stdout.strip()}")
    return "it asked about a harmless call that no one approved, and its denial blocks such a call."
