"""A condition that changes while people decide: for the frameworks whose tools may ask by one."""

from __future__ import annotations

from pathlib import Path

from tests.contract.frameworks.conftest import Agent
from tests.contract.frameworks.killed import Effects, asked, reject_to_the_end


def check_condition_that_changes(agent: Agent, folder: Path) -> None:
    """Ask about two calls by a condition that is false as soon as they wait; reject one and approve the other."""
    effects = Effects(agent, folder)
    calm = folder / "calm"
    agent.environment["CALM"] = str(calm)
    agent.start()
    refund, drop = asked(agent, "refund"), asked(agent, "drop")
    calm.touch()
    agent.decide(refund, "reject", comment="Not today")
    agent.decide(drop, "approve")
    reject_to_the_end(agent)
    assert effects.ran() == ["orders"]
    assert agent.result(drop) == "dropped"
