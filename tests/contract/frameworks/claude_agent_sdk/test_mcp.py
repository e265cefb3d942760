"""The commands of docs/how-to/mcp.md in the real Claude Code, with a stand-in of its model: people answer its prompts."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks import environments
from tests.contract.frameworks.claude_agent_sdk.test_claude_agent_sdk import AnyAccount
from tests.contract.frameworks.conftest import SOON, Agent
from tests.support.anthropic_server import KEY, AnthropicServer, says, text, tool_use
from tests.support.processes.server import until
from tests.support.root import ROOT

pytestmark = pytest.mark.server

PAGE = (ROOT / "docs" / "how-to" / "mcp.md").read_text()
ADD, LIST, PROMPT = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(CONFIGURATION,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def claude(agent: Agent, tmp_path: Path):
    """A stand-in of the model, and a shell with `claude` in which the commands of the page run in a folder of their own."""
    (folder,) = environments.folder("claude_agent_sdk").glob("lib/python3.*/site-packages/claude_agent_sdk/_bundled")
    with AnthropicServer() as model:
        model.account = AnyAccount()
        agent.environment |= {
            "PATH": f"{folder}:{agent.environment['PATH']}",
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": KEY,
            "HOME": str(tmp_path / "home"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        yield model


def start(agent: Agent, command: str, folder: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    # No session may wait for keyboard input.
    agent.program = subprocess.Popen(
        ["bash", "-c", command],
        env=agent.environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )
    return agent.program


def finish(program: subprocess.Popen[str]) -> str:
    out, errors = program.communicate(timeout=SOON)
    assert program.returncode == 0, out[-2000:] + errors[-4000:]
    return out


def listed(agent: Agent, folder: Path) -> str:
    """The first sentence of `claude mcp list` about the server, without the mark before it, which depends on the version."""
    out = finish(start(agent, LIST, folder))
    (line,) = (line for line in out.splitlines() if line.startswith("desk: "))
    return line.partition(" - ")[2].partition(" ")[2].partition(". ")[0]


def titled(agent: Agent, title: str) -> dict[str, Any]:
    """The waiting request with this title, once there is one."""

    def found() -> list[dict[str, Any]]:
        assert agent.program.poll() is None, agent.program.communicate()
        items = agent.approver.send("GET", "/requests?status=pending").body["items"]
        return [item for item in items if item["title"] == title]

    return until(found, f"{title} waits", SOON)[0]


def has_given_up(folder: Path) -> bool:
    """Whether Claude Code no longer tries to continue a call at the server."""
    logs = (folder / "home").rglob("mcp-logs-desk/*.jsonl")
    return any("reconnection exhausted" in log.read_text() for log in logs)


def results(model: AnthropicServer) -> dict[str, Any]:
    """Return the result of each call for the model."""
    blocks = [
        block
        for message in model.requests[-1].body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return {block["tool_use_id"].partition("-")[0]: block["content"] for block in blocks}


def test_permission_prompts_are_decided_by_people(agent, claude, tmp_path):
    finish(start(agent, ADD, tmp_path))
    assert listed(agent, tmp_path) == "Connected"
    claude.will(
        says(
            tool_use(f"toolu_write-{agent.thread}", "Write", file_path=str(tmp_path / "a.txt"), content="one"),
            stop_reason="tool_use",
        ),
        says(
            tool_use(f"toolu_rm-{agent.thread}", "Bash", command="rm -rf /srv/data", description="Clean up"),
            stop_reason="tool_use",
        ),
        says(text("done")),
    )
    program = start(agent, PROMPT, tmp_path)
    edited = {"file_path": str(tmp_path / "a.txt"), "content": "two"}
    agent.decide(agent.waiting(1)["Write"], "edit", edited_input=edited)
    agent.decide(agent.waiting(1)["Bash"], "reject", comment="Not this folder")
    assert finish(program).strip() == "done"
    assert (tmp_path / "a.txt").read_text() == "two"
    assert results(claude)["toolu_rm"] == "A person rejected this: Not this folder"


def test_a_server_that_is_killed_while_a_prompt_waits_runs_nothing(agent, desk, claude, tmp_path):
    finish(start(agent, ADD, tmp_path))
    call = tool_use(f"toolu_write-{agent.thread}", "Write", file_path=str(tmp_path / "a.txt"), content="one")
    claude.will(says(call, stop_reason="tool_use"))
    if not environments.LOWEST:
        claude.will(says(text("done")))
    program = start(agent, PROMPT, tmp_path)
    request = agent.waiting(1)["Write"]
    desk.kill()
    try:
        if environments.LOWEST:
            until(lambda: has_given_up(tmp_path), "Claude Code no longer tries to connect", SOON)
        else:
            assert finish(program).strip() == "done"
            assert "connection closed" in results(claude)["toolu_write"]
    finally:
        desk.start()
    # An approval that comes later runs nothing either.
    agent.decide(request, "approve")
    assert not (tmp_path / "a.txt").exists()
    if environments.LOWEST:
        # It waits for an answer that cannot come.
        assert program.poll() is None
        program.kill()
        program.communicate()


def test_a_wrong_key_is_said_where_servers_are_listed(agent, claude, tmp_path):
    agent.environment["PAUSEPOINT_KEY"] = "pp_00000000_wrong"
    finish(start(agent, ADD, tmp_path))
    # Older versions do not say why.
    reason = "" if environments.LOWEST else " — Server rejected the configured Authorization header (HTTP 401)"
    assert listed(agent, tmp_path) == f"Failed to connect{reason}"


def test_the_tools_work_from_the_file_of_a_project(agent, claude, tmp_path):
    (tmp_path / ".mcp.json").write_text(CONFIGURATION)
    action = f"refund {agent.thread}"
    claude.will(
        says(
            tool_use(f"toolu_ask-{agent.thread}", "mcp__desk__request_approval", action=action, input={"amount": 250}),
            stop_reason="tool_use",
        ),
        says(text("done")),
    )
    command = 'claude -p "Refund it." --mcp-config .mcp.json --allowedTools mcp__desk__request_approval'
    program = start(agent, command, tmp_path)
    found = titled(agent, action)
    agent.decide(found, "edit", edited_input={"amount": 99})
    assert finish(program).strip() == "done"
    told = json.loads(results(claude)["toolu_ask"])
    assert (told["status"], told["input"], told["request_id"]) == ("approved", {"amount": 99}, found["id"])
