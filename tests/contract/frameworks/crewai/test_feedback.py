"""CrewAI: stored flows ask once, and an answer is used once, with the package as people install it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


def started(agent: Any, folder: Path, kind: str, **environment: str) -> str:
    agent.command[1:] = [str(Path(__file__).parent / "feedback.py"), agent.thread, str(folder), kind]
    kept = dict(agent.environment)
    agent.environment |= environment
    program = agent.start()
    agent.environment = kept
    return str(told(program)["result"])


def ran(folder: Path) -> list[str]:
    file = folder / "ran"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.lacks(
    "crewai",
    "pauses",
    "CrewAI stores only one pause of a flow. If two methods ask at the same time with `wait=False`, the flow ends with "
    "`TwoAtOnce` and no one is asked. Crews ask about one call after the other.",
)
def test_of_two_methods_that_would_ask_at_the_same_time_none_is_asked(agent, tmp_path):
    assert started(agent, tmp_path, "two").startswith("TwoAtOnce: The method ")
    assert (agent.every_waiting(), ran(tmp_path)) == ([], [])


def test_an_answer_is_used_again_after_an_error_in_the_next_step_and_never_after_its_end(agent, tmp_path):
    assert started(agent, tmp_path, "fails") == "HumanFeedbackPending"
    (asked,) = agent.every_waiting()
    agent.decide(asked, "respond", answer="approved")
    assert started(agent, tmp_path, "fails") == "RuntimeError: The bank is away."
    # Also if the flow begins anew with the same id.
    assert started(agent, tmp_path, "again") == "HumanFeedbackPending"
    assert agent.every_waiting() == []
    assert started(agent, tmp_path, "fails", WORKS="1") == "refunded 250"
    assert started(agent, tmp_path, "again") == "HumanFeedbackPending"
    (anew,) = agent.every_waiting()
    assert (anew["id"] != asked["id"], ran(tmp_path)) == (True, ["refund 4711 250"])
