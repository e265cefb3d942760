"""A process that is killed between an answer and its effect: for the frameworks whose adapters wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.contract.frameworks.conftest import SOON, Agent, told
from tests.support.processes.server import until

REFUND = {"order": "4711", "amount": 250}
#: Where `refund` hangs when its process is killed, and the people's answer if asked whether it may run again.
MOMENTS = {"before the effect": "approve", "after the effect": "reject"}


class Effects:
    """The calls that have run, in any process, and the moments before a kill."""

    def __init__(self, agent: Agent, folder: Path) -> None:
        self.file = folder / "effects"
        agent.environment["EFFECTS"] = str(self.file)

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    def ran(self) -> list[Any]:
        return [json.loads(line) for line in self.lines() if not line.startswith("waits ")]


def asked(agent: Agent, tool: str) -> dict[str, Any]:
    """The waiting request about a tool, also beside others."""

    def found() -> list[dict[str, Any]]:
        assert agent.program.poll() is None, agent.program.communicate()[1][-4000:]
        return [one for one in agent.every_waiting() if one["tool_name"] == tool]

    return until(found, f"{tool} waits", SOON)[0]


def check_killed(agent: Agent, folder: Path, moment: str, *, at_once: bool = True) -> None:
    """Kill the agent when its refund was approved, and was about to run or has just run; start it again. People are asked, in
    words, whether the call may run once more, and it has run once in the end. Until then no other call is decided if approved
    ones run `at_once`.
    """
    effects = Effects(agent, folder)
    agent.environment["HANG"] = moment
    program = agent.start()
    refund = asked(agent, "refund")
    agent.decide(refund, "approve")

    def waits() -> bool:
        if not at_once:
            reject_all(agent)
        return effects.lines()[-1:] == [f"waits {moment}"]

    until(waits, f"it waits {moment}", SOON)
    program.kill()
    program.communicate()
    agent.lose_lease(refund)
    del agent.environment["HANG"]
    second, again = agent.start(), []

    def has_ended() -> bool:
        for request in agent.every_waiting():
            if request["title"] == "Run refund again?":
                again.append(agent.whole(request))
                agent.decide(request, MOMENTS[moment])
            else:
                agent.decide(request, "reject")
        return second.poll() is not None

    until(has_ended, "it has ended", SOON)
    told(second)
    assert [one["input"] for one in again] == [REFUND]
    assert again[0]["message"].startswith(
        "An earlier run of this call ended before it reported a result, so it may have"
    )
    assert effects.ran() == [list(REFUND.values())]


def check_partial(agent: Agent, folder: Path) -> None:
    """Approve one call of several of an agent that goes on when all are decided, and kill it meanwhile; start it again and
    reject the others. The approved call runs once, and not before.
    """
    effects = Effects(agent, folder)
    program = agent.start()
    agent.decide(asked(agent, "refund"), "approve")
    asked(agent, "drop")
    program.kill()
    program.communicate()
    assert effects.ran() == []
    agent.start()
    reject_to_the_end(agent)
    assert effects.ran() == [list(REFUND.values())]


def reject_all(agent: Agent) -> None:
    for request in agent.every_waiting():
        agent.decide(request, "reject")


def reject_to_the_end(agent: Agent) -> None:
    """Reject all requests of the agent, until it has ended."""

    def has_ended() -> bool:
        reject_all(agent)
        return agent.program.poll() is not None

    until(has_ended, "it has ended", SOON)
    told(agent.program)
