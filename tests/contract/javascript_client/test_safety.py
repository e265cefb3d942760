"""Agents can't be made to run a call: by a kill between an answer and its effect, or by a condition that changes."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conditions import check_condition_that_changes
from tests.contract.frameworks.conftest import SOON, told
from tests.contract.frameworks.killed import MOMENTS, REFUND, Effects, asked, check_killed, check_partial
from tests.support.processes.server import until

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.shows("ai-sdk-agents", "killed", "partial")
def test_a_gated_call_whose_process_was_killed_while_other_ones_wait_runs_once_and_only_as_people_say(
    ai_sdk, tmp_path, moment
):
    check_killed(ai_sdk("gate"), tmp_path, moment)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.shows("openai-agents-js", "killed")
def test_a_call_whose_process_was_killed_runs_once_and_only_as_people_say(openai_agents, tmp_path, moment):
    check_killed(openai_agents(), tmp_path, moment, at_once=False)


@pytest.mark.shows("openai-agents-js", "partial")
def test_nothing_runs_while_a_call_of_the_step_waits_and_what_was_approved_runs_once_after_a_kill(
    openai_agents, tmp_path
):
    check_partial(openai_agents(), tmp_path)


@pytest.mark.shows("openai-agents-js", "condition")
def test_a_rejected_call_does_not_run_though_the_condition_by_which_it_was_asked_is_false_now(openai_agents, tmp_path):
    check_condition_that_changes(openai_agents(), tmp_path)


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
    effects = Effects(agent, tmp_path)
    program = agent.start()
    agent.decide(agent.waiting(1)["clerk"], "approve")
    second = until(
        lambda: [one for one in agent.every_waiting() if "clerk-with" in one["tool_call_id"]], "it asks", SOON
    )
    assert effects.ran() == [list(REFUND.values())]
    agent.decide(second[0], "approve")
    agent.decide(asked(agent, "refund"), "reject")
    assert (told(program)["with"], effects.ran()) == ("done", [list(REFUND.values())])
