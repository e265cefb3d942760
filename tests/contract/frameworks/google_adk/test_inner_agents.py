"""Google ADK: an agent within an app runs no call unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.cases import REFUND, Effects
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


def inner(agent, tmp_path, mode: str) -> Effects:
    agent.command[1:] = [str(Path(__file__).parent / "inner.py"), agent.thread, mode]
    return Effects(agent, tmp_path)


@pytest.mark.parametrize("mode", ["tool", "transfer"])
@pytest.mark.shows("google-adk", "agents")
def test_a_sub_agent_and_an_agent_that_is_a_tool_ask_about_their_calls(agent, tmp_path, mode):
    effects = inner(agent, tmp_path, mode)
    program = agent.start()
    request = agent.waiting(1)["refund"]
    assert (agent.whole(request)["input"], effects.ran()) == (REFUND, [])
    agent.decide(request, "approve")
    assert (told(program)["last"], effects.ran()) == ("done", [list(REFUND.values())])


def test_an_agent_that_is_a_tool_without_the_plugins_of_the_app_ends_the_run_before_its_call(agent, tmp_path):
    effects = inner(agent, tmp_path, "isolated")
    assert told(agent.start())["last"] == (
        "NotGated: The tool 'clerk' is an agent of its own, whose calls of 'refund' would run unasked: it does not get the "
        "plugins of the app. Give its AgentTool include_plugins=True."
    )
    assert effects.ran() == []
