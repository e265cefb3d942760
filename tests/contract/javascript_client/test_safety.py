"""Gated tools of the AI SDK: names that no tool has, and agents within a tool."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import REFUND, Play
from tests.contract.frameworks.conftest import SOON, told
from tests.support.processes.server import until

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.mark.shows("ai-sdk-agents", "names")
def test_a_name_that_no_tool_has_and_an_empty_list_run_nothing_and_without_names_every_tool_asks(ai_sdk):
    agent = ai_sdk("names")
    program = agent.start()
    agent.decide(agent.waiting(1)["refund"], "reject")
    found = told(program)
    unknown = 'TypeError: No tool has the name "refnd", so people would not be asked about it. The tools are: "refund".'
    empty = "TypeError: `tools` is an empty list, so no one would be asked about any tool. "
    for refnd, none in (found["gate"], found["approval"]):
        assert (refnd, none.startswith(empty)) == (unknown, True)
    assert (found["unnamed"], found["ran"]) == ("done", [])


@pytest.mark.shows("ai-sdk-agents", "agents")
@pytest.mark.lacks(
    "ai-sdk-agents",
    "agents",
    "People are asked about the tool that runs another agent, but not about that agent's calls, unless its tools are gated "
    "themselves.",
)
def test_an_agent_within_a_tool_asks_with_a_gate_of_its_own_and_people_are_asked_about_that_tool_first(
    ai_sdk, tmp_path
):
    agent = ai_sdk("inner")
    play = Play(agent, tmp_path)
    program = agent.start()
    agent.decide(agent.waiting(1)["clerk"], "approve")
    second = until(
        lambda: [one for one in agent.every_waiting() if "clerk-with" in one["tool_call_id"]], "it asks", SOON
    )
    assert play.ran() == [list(REFUND.values())]
    agent.decide(second[0], "approve")
    agent.decide(play.waiting("refund"), "reject")
    assert (told(program)["with"], play.ran()) == ("done", [list(REFUND.values())])
