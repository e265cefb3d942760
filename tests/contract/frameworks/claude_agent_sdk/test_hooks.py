"""Hooks beside `can_use_tool` and in its place, in the real Claude Code, with a stand-in of its model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks import environments
from tests.contract.frameworks.claude_agent_sdk.test_claude_agent_sdk import AnyAccount, started
from tests.contract.frameworks.conftest import SOON, Agent, told
from tests.contract.frameworks.shared import program
from tests.support.anthropic_server import AnthropicServer, says, text, tool_use
from tests.support.processes.server import until

pytestmark = pytest.mark.server

#: The settings of the how-to page about the hook.
(SETTINGS,) = re.findall(
    r"^```json\n(.*?)^```$", (program.HOW_TO / "claude-code.md").read_text(), re.MULTILINE | re.DOTALL
)


@pytest.fixture
def claude() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        running.account = AnyAccount()
        yield running


def start(agent: Agent, claude: AnthropicServer, folder: Path, kind: str) -> None:
    """Start the program; its model wants to write a file, and then says that it is done."""
    call = tool_use(f"toolu_write-{agent.thread}", "Write", file_path=str(folder / "a.txt"), content="one")
    claude.will(says(call, stop_reason="tool_use"), says(text("done")))
    agent.command[1] = str(Path(__file__).parent / "hooked.py")
    agent.environment["PATH"] = f"{environments.folder('claude_agent_sdk') / 'bin'}:{agent.environment['PATH']}"
    started(agent, claude, folder, kind)


def connect(agent: Agent, folder: Path, **events: str) -> None:
    """Give the folder the settings of the page; of `events` alone, with the hook of the event that each of them names."""
    hooks = json.loads(SETTINGS.replace("https://desk.example.com", agent.environment["PAUSEPOINT_URL"]))["hooks"]
    if events:
        hooks = {event: hooks[other] for event, other in events.items()}
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))


def last_told(claude: AnthropicServer) -> str:
    return json.dumps(claude.requests[-1].body)


def test_the_hooks_of_the_desk_report_the_result_and_tell_the_model_what_was_changed_and_said(agent, claude, tmp_path):
    start(agent, claude, tmp_path, "desk")
    request = agent.waiting(1)["Write"]
    edited = {"file_path": str(tmp_path / "a.txt"), "content": "two"}
    agent.decide(request, "edit", edited_input=edited, comment="Safer words")
    told(agent.program)
    assert agent.result(request)["content"] == "two"
    assert "A person changed the input of this call to" in last_told(claude)
    assert "Safer words" in last_told(claude)


def test_the_hooks_of_the_desk_report_a_tool_that_fails(agent, claude, tmp_path):
    start(agent, claude, tmp_path, "desk")
    request = agent.waiting(1)["Write"]
    # A folder cannot be written.
    agent.decide(request, "edit", edited_input={"file_path": str(tmp_path), "content": "two"})
    told(agent.program)
    assert "ToolFailed: " in agent.failure(request)


def test_a_hook_of_the_options_is_told_the_result_and_its_words_reach_the_model(agent, claude, tmp_path):
    start(agent, claude, tmp_path, "options")
    agent.decide(
        agent.waiting(1)["Write"], "edit", edited_input={"file_path": str(tmp_path / "a.txt"), "content": "two"}
    )
    ((call, ran, result),) = told(agent.program)["ran"]
    assert (call, ran["content"], result["content"]) == (f"toolu_write-{agent.thread}", "two", "two")
    assert "The person says: gently." in last_told(claude)


def test_the_hook_of_claude_code_reports_results_and_tells_the_model_what_was_changed_and_said(agent, claude, tmp_path):
    connect(agent, tmp_path)
    start(agent, claude, tmp_path, "settings")
    request = agent.waiting(1)["Write"]
    edited = {"file_path": str(tmp_path / "a.txt"), "content": "two"}
    agent.decide(request, "edit", edited_input=edited, comment="Safer words")
    told(agent.program)
    assert (tmp_path / "a.txt").read_text() == "two"
    assert agent.result(request)["content"] == "two"
    assert "Safer words" in last_told(claude)
    assert "It ran with this input" in last_told(claude)


@pytest.mark.parametrize("first", ["hook", "options"])
@pytest.mark.parametrize(("verdict", "later"), [("approve", "reject"), ("reject", "approve")])
def test_a_permission_hook_and_can_use_tool_are_asked_at_once_and_the_first_answer_wins(
    agent, claude, tmp_path, first, verdict, later
):
    connect(agent, tmp_path, PermissionRequest="PreToolUse")
    start(agent, claude, tmp_path, "both")

    def of_hook() -> list[dict[str, Any]]:
        waiting = agent.approver.send("GET", "/requests?status=pending&limit=200").body["items"]
        wholes = [agent.whole(one) for one in waiting]
        return [one for one in wholes if (one["context"] or {}).get("directory") == str(tmp_path)]

    asked = {"options": agent.waiting(1)["Write"], "hook": until(of_hook, "the hook asks", SOON)[0]}
    agent.decide(asked.pop(first), verdict)
    told(agent.program)
    # The second request waits on, and its decision changes nothing.
    agent.decide(asked.popitem()[1], later)
    assert (tmp_path / "a.txt").exists() == (verdict == "approve")
