"""Two processes of one thread at the same time: for the frameworks whose adapters wait."""

from __future__ import annotations

from typing import Any

from tests.contract.frameworks.conftest import SOON, Agent, told
from tests.support.processes.server import until


def check_one_runs(agent: Agent, expected: list[Any]) -> None:
    """Start the agent twice, approve its refunds and nothing else, and check that each has run in one of the two."""
    programs = [agent.start(), agent.start()]

    def have_ended() -> bool:
        for request in agent.every_waiting():
            agent.decide(request, "approve" if request["tool_name"] == "refund" else "reject")
        return all(program.poll() is not None for program in programs)

    until(have_ended, "both have ended", SOON)
    assert sorted(ran for program in programs for ran in told(program)["ran"]) == sorted(expected)
