"""A condition that changes while people decide: for the frameworks whose tools may ask by one."""

from __future__ import annotations

from pathlib import Path

from tests.contract.frameworks.conftest import Agent, told
from tests.contract.frameworks.killed import Effects, asked


def check_condition_that_changes(agent: Agent, folder: Path) -> None:
    """Ask about two calls by a condition that is false as soon as they wait; reject one and approve the other."""
    effects = Effects(agent, folder)
    calm = folder / "calm"
    agent.environment["CALM"] = str(calm)
    program = agent.start()
    refund, drop = asked(agent, "refund"), asked(agent, "drop")
    calm.touch()
    agent.decide(refund, "reject", comment="Not today")
    agent.decide(drop, "approve")
    for other in agent.every_waiting():
        agent.decide(other, "reject")
    told(program)
    assert effects.ran() == ["orders"]
    assert agent.result(drop) == "dropped"
