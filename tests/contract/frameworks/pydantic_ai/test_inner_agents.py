"""pydantic-ai: an agent within a tool runs no call unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.cases import REFUND, Effects
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("pydantic-ai", "agents")
def test_an_agent_within_a_tool_asks_with_the_capability_and_without_it_its_run_ends_before_the_call(agent, tmp_path):
    agent.command[1:] = [str(Path(__file__).parent / "inner.py"), agent.thread, "without"]
    effects = Effects(agent, tmp_path)
    assert told(agent.start())["last"].startswith("UserError: A deferred tool call was present, but ")
    assert effects.ran() == []
    agent.command[-1] = "with"
    program = agent.start()
    request = agent.waiting(1)["refund"]
    assert agent.whole(request)["input"] == REFUND
    agent.decide(request, "approve")
    assert (told(program)["last"], effects.ran()) == ("done", [list(REFUND.values())])
