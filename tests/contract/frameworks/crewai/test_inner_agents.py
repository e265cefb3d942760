"""CrewAI: an agent to which another one delegates runs no call unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.cases import REFUND, Effects
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.parametrize(("verdict", "ran"), [("approve", [list(REFUND.values())]), ("reject", [])])
@pytest.mark.shows("crewai", "agents")
def test_an_agent_to_which_another_one_delegates_asks_about_its_calls(agent, tmp_path, verdict, ran):
    agent.command[1] = str(Path(__file__).parent / "inner.py")
    effects = Effects(agent, tmp_path)
    program = agent.start()
    request = agent.waiting(1)["refund"]
    assert (agent.whole(request)["input"], agent.whole(request)["agent"]) == (REFUND, "clerk")
    agent.decide(request, verdict)
    assert (told(program)["last"], effects.ran()) == ("done", ran)
