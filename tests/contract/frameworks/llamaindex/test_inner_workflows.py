"""LlamaIndex: a workflow within a step runs no call unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.cases import REFUND, Effects
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("llamaindex", "agents")
@pytest.mark.lacks(
    "llamaindex",
    "agents",
    "A workflow within a step needs its own `run_with_desk`. Without one, no one is asked and its call does not run: it "
    "waits until its timeout.",
)
def test_a_workflow_within_a_step_asks_with_a_run_of_its_own_and_without_it_waits_and_runs_nothing(agent, tmp_path):
    agent.command[1:] = [str(Path(__file__).parent / "inner.py"), agent.thread, "without"]
    effects = Effects(agent, tmp_path)
    assert told(agent.start())["last"] == "WorkflowTimeoutError"
    assert (effects.ran(), agent.every_waiting()) == ([], [])
    agent.command[-1] = "with"
    program = agent.start()
    request = agent.waiting(1)["refund"]
    assert agent.whole(request)["input"] == REFUND
    agent.decide(request, "approve")
    assert (told(program)["last"], effects.ran()) == ("refunded 250", [list(REFUND.values())])
