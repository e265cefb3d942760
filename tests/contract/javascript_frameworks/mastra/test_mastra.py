"""An agent of Mastra, with the code of the how-to page."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import OTHER, REFUND, Play
from tests.contract.frameworks.conftest import SOON, told
from tests.contract.javascript_frameworks.checks import (
    check_decisions,
    check_first_program,
    check_killed_while_asking,
    check_types,
    check_undecided,
    halt,
)
from tests.support.processes.server import until

pytestmark = pytest.mark.server


@pytest.mark.shows("mastra", "approve", "edit", "reject", "answer", "once")
def test_gated_tools_run_what_was_approved_and_the_model_reads_changes_and_words(program):
    check_decisions(program("agent", 0, 2))


@pytest.mark.shows("mastra", "expire", "cancel")
def test_calls_that_no_one_decides_do_not_run_and_the_model_is_told_why(program):
    check_undecided(program("agent", 0, 2))


@pytest.mark.shows("mastra", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(program):
    check_killed_while_asking(program("agent", 0, 2))


def test_the_types_of_the_adapter_fit(framework):
    check_types(framework)


def test_the_first_program_of_the_page_runs_as_pasted(program):
    check_first_program(program("page", 1))


def test_an_agent_that_the_policy_stops_is_suspended_and_its_waiting_calls_do_not_run(program, tmp_path):
    play = Play(program("agent", 0, 2), tmp_path)
    out, _ = halt(play)
    assert '"reason":"suspended"' in out


@pytest.mark.shows("mastra", "names")
def test_what_could_run_unasked_is_refused_and_a_change_that_the_schema_would_turn_into_another_input_does_not_run(
    program,
):
    agent = program("refused")
    process = agent.start()
    first = agent.waiting(1)["pay"]
    assert agent.whole(first)["response_schema"] is None
    agent.decide(first, "approve", comment="Be quick")
    until(lambda: agent.whole(first)["result"], "its result is reported", SOON)
    second = agent.waiting(1)["pay"]
    agent.decide(second, "edit", edited_input={"euros": 4})
    found = told(process)
    unknown, empty, hosted, suspending = found["refusals"]
    assert unknown.startswith('TypeError: No tool has the name "refnd", so people would not be asked about it.')
    assert empty.startswith("TypeError: `tools` is an empty list")
    assert hosted.startswith('TypeError: The tool "hosted" has no execute function, so no one would be asked.')
    assert suspending.startswith('TypeError: The tool "suspending" suspends itself')
    said = "The person who approved it says: Be quick."
    unfit = "makes another value of its input, so the input cannot be changed."
    assert (found["paid"], found["read"][0]) == ([500], f"{said}\n\npaid 500 cents")
    assert found["read"][1].endswith(unfit)
    assert agent.whole(second)["result"]["state"] == "failed"


@pytest.mark.shows("mastra", "agents")
@pytest.mark.lacks(
    "mastra", "agents", "People are not asked about the calls of a sub-agent, unless its tools are gated themselves."
)
def test_the_calls_of_a_sub_agent_ask_also_those_with_one_id_and_the_policy_stops_both_agents(program, tmp_path):
    play = Play(program("inner"), tmp_path)
    play.model([play.call("refund", REFUND), play.call("refund", OTHER)])

    def approve_the_first(request):
        play.agent.decide(request, "approve" if play.agent.whole(request)["input"] == REFUND else "reject")

    process = play.agent.start()
    play.end(process, answer=approve_the_first)
    assert (play.effects(), told(process)["last"]) == ([["4711", 250]], "done")
    stopped = Play(program("inner"), tmp_path / "stopped")
    stopped.file.parent.mkdir()
    out, _ = halt(stopped)
    assert '"reason":"suspended"' in out
