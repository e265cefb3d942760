"""Claude Agent SDK: `can_use_tool=desk.can_use_tool`, with the real Claude Code and a stand-in of its model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks.conftest import told
from tests.support.anthropic_server import KEY, AnthropicServer, says, text, tool_use
from tests.support.claude.account import Account
from tests.support.processes.policies import HALT, apply_rules
from tests.support.processes.server import Server

pytestmark = pytest.mark.server

QUESTION = {
    "question": "Which colour?\nOf the logo.",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "like a rose"}, {"label": "Blue", "description": "like the sea"}],
}


class AnyAccount(Account):
    """Takes every request: Claude Code uses betas of the API that the rules of our own provider's tests do not know."""

    def objection(self, body: dict[str, Any], betas: Sequence[str] = ()) -> str:
        return ""

    def missing_file(self, body: dict[str, Any]) -> str:
        return ""

    def answer(
        self, body: dict[str, Any], blocks: Sequence[dict[str, Any]], betas: Sequence[str] = (), container: str = ""
    ) -> dict[str, int]:
        return {"input_tokens": 1, "output_tokens": 1}


@pytest.fixture
def asking(agent, tmp_path, request):
    """Claude Code in a folder, with a model that wants to write, to clean up and to ask, and says that it is done if asked."""
    asked = agent.thread
    with AnthropicServer() as claude:
        claude.account = AnyAccount()
        claude.will(
            says(
                tool_use(f"toolu_write-{asked}", "Write", file_path=str(tmp_path / "a.txt"), content="one"),
                tool_use(f"toolu_rm-{asked}", "Bash", command="rm -rf /srv/data", description="Clean up"),
                tool_use(f"toolu_ask-{asked}", "AskUserQuestion", questions=[QUESTION]),
                stop_reason="tool_use",
            ),
            *([says(text("done"))] if getattr(request, "param", True) else []),
        )
        yield started(agent, claude, tmp_path)


def started(agent: Any, claude: AnthropicServer, folder: Path, *more: str) -> Any:
    agent.command += [str(folder), *more]
    agent.environment |= {
        "ANTHROPIC_BASE_URL": claude.url,
        "ANTHROPIC_API_KEY": KEY,
        "HOME": str(folder / "home"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    return agent.start()


@pytest.fixture
def halting(desk: Server) -> Iterator[None]:
    """At the deadlines of files that Claude Code writes, the run is stopped."""
    apply_rules(desk, {"name": "Stop", "match": {"agents": ["Claude Code"], "tools": ["Write"]}, **HALT})
    yield
    apply_rules(desk)


@pytest.mark.parametrize("asking", [False], indirect=True)
@pytest.mark.shows("claude-agent-sdk", "halted")
def test_at_a_deadline_that_halts_claude_code_is_interrupted_and_its_model_not_asked_again(
    halting, agent, asking, tmp_path
):
    agent.let_expire(agent.waiting(1)["Write"])
    found = told(asking)
    # These are words of Claude Code, which gives no reason then.
    words = {text.partition(" with this")[0] for text in found["messages"].values()}
    assert (sorted(found["messages"]), words, found["last"]) == (
        ["toolu_ask", "toolu_rm", "toolu_write"],
        {"The user doesn't want to proceed"},
        "",
    )
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.shows("claude-agent-sdk", "approve", "readable")
def test_a_call_that_was_approved_runs_as_it_was_requested(agent, asking, tmp_path):
    write = agent.waiting(1)["Write"]
    assert agent.whole(write)["input"] == {"file_path": str(tmp_path / "a.txt"), "content": "one"}
    agent.decide(write, "approve")
    command = agent.waiting(1)["Bash"]
    assert agent.whole(command)["input"] == {"command": "rm -rf /srv/data", "description": "Clean up"}
    agent.decide(command, "reject")
    agent.decide(agent.waiting(1)["Which colour?"], "reject")
    assert told(asking)["last"] == "done"
    assert (tmp_path / "a.txt").read_text() == "one"


@pytest.mark.shows("claude-agent-sdk", "edit", "reject", "answer")
def test_claude_code_runs_what_was_approved_and_is_told_the_rest(agent, asking, tmp_path):
    write = agent.waiting(1)["Write"]
    edited = {"file_path": str(tmp_path / "a.txt"), "content": "two"}
    agent.decide(write, "edit", edited_input=edited)
    agent.decide(agent.waiting(1)["Bash"], "reject", comment="Not this folder")
    question = agent.waiting(1)["Which colour?"]
    assert agent.whole(question)["message"] == QUESTION["question"]
    agent.decide(question, "respond", answer="Red")
    found = told(asking)
    assert (tmp_path / "a.txt").read_text() == "two"
    assert found["messages"]["toolu_rm"] == "A person declined this call: Not this folder. Do not repeat it."
    assert f'"{QUESTION["question"]}"="Red"' in found["messages"]["toolu_ask"]
    assert found["last"] == "done"


@pytest.mark.shows("claude-agent-sdk", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent, asking, tmp_path):
    agent.withdraw(agent.waiting(1)["Write"], "The order is closed")
    agent.let_expire(agent.waiting(1)["Bash"])
    agent.let_expire(agent.waiting(1)["Which colour?"])
    assert told(asking)["messages"] == {
        "toolu_write": "This call was cancelled: The order is closed. Do not repeat it.",
        "toolu_rm": "No one decided in time, so this call was not run.",
        "toolu_ask": "No one answered in time.",
    }
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(("verdict", "written"), [("approve", True), ("reject", False)])
@pytest.mark.shows("claude-agent-sdk", "agents")
def test_a_sub_agent_asks_about_its_calls(agent, tmp_path, verdict, written):
    work: dict[str, Any] = {"description": "Write it", "prompt": "Write a.txt.", "subagent_type": "general-purpose"}
    # Some versions run sub-agents beside the agent, which would end before them.
    work["run_in_background"] = False
    file = tmp_path / "a.txt"
    with AnthropicServer() as claude:
        claude.account = AnyAccount()
        claude.will(
            says(tool_use(f"toolu_task-{agent.thread}", "Task", **work), stop_reason="tool_use"),
            says(
                tool_use(f"toolu_write-{agent.thread}", "Write", file_path=str(file), content="one"),
                stop_reason="tool_use",
            ),
            # The sub-agent ends, and then the agent.
            says(text("done")),
            says(text("done")),
        )
        program = started(agent, claude, tmp_path)
        request = agent.waiting(1)["Write"]
        assert (agent.whole(request)["input"]["content"], file.exists()) == ("one", False)
        agent.decide(request, verdict)
        assert (told(program)["last"], file.exists()) == ("done", written)
