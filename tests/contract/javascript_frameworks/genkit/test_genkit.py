"""A program of Genkit, with the code of the how-to page."""

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


@pytest.mark.shows("genkit", "approve", "edit", "reject", "answer", "once")
def test_gated_tools_run_what_was_approved_and_the_model_reads_changes_and_words(agent):
    check_decisions(agent)


@pytest.mark.shows("genkit", "expire", "cancel")
def test_calls_that_no_one_decides_do_not_run_and_the_model_is_told_why(agent):
    check_undecided(agent)


@pytest.mark.shows("genkit", "crash")
def test_a_killed_program_finds_its_requests_when_it_is_started_again(agent):
    check_killed_while_asking(agent)


def test_the_types_of_the_adapter_fit(framework):
    check_types(framework)


def test_the_first_program_of_the_page_runs_as_pasted(program):
    check_first_program(program("page", 1))


@pytest.mark.parametrize("name", ["agent", "inner"])
def test_a_run_that_the_policy_stops_ends_with_an_error(program, tmp_path, name):
    play = Play(program(name, *((0, 2) if name == "agent" else ())), tmp_path)
    _, errors = halt(play)
    assert (play.agent.program.returncode, "Halted: No one decided in time" in errors) == (1, True)


def test_results_of_calls_without_ids_keep_their_order_whichever_is_decided_first(agent, tmp_path):
    play = Play(agent, tmp_path)
    play.model([["", "refund", REFUND], ["", "refund", OTHER]])
    process = agent.start()
    until(lambda: len(agent.every_waiting()) == 2, "both wait", SOON)
    for wanted in (OTHER, REFUND):
        (request,) = [each for each in agent.every_waiting() if agent.whole(each)["input"] == wanted]
        play.approve(request)
        until(lambda request=request: agent.whole(request)["result"], "its result is reported", SOON)
    assert told(process)["read"] == ["refunded 250", "refunded 30"]


@pytest.mark.shows("genkit", "names")
def test_an_unknown_name_and_an_empty_list_run_nothing_and_a_waiting_call_does_not_run_after_the_run_has_failed(
    program, tmp_path
):
    agent = program("refused")
    play = Play(agent, tmp_path)
    process = agent.start()
    request = play.waiting("refund")
    until(lambda: play.lines() == ["waits for the decision"], "the run has failed", SOON)
    play.approve(request)
    found = told(process)
    unknown, empty, broken = found["refusals"]
    assert unknown.startswith('TypeError: No tool has the name "refnd", so people would not be asked about it.')
    assert empty.startswith("TypeError: `tools` is an empty list")
    assert (broken, found["ran"], agent.resumes(request)) == ("Error: the bank says no", [], [])


@pytest.mark.shows("genkit", "agents")
@pytest.mark.lacks(
    "genkit",
    "agents",
    "People are asked about the tool that runs another `generate`, but not about the calls of that one, unless it has a gate "
    "of its own.",
)
def test_the_calls_of_a_generate_in_a_tool_ask_also_those_with_one_id(program, tmp_path):
    play = Play(program("inner"), tmp_path)
    play.model([play.call("refund", REFUND), play.call("refund", OTHER)])

    def approve_the_first(request):
        play.agent.decide(request, "approve" if play.agent.whole(request)["input"] == REFUND else "reject")

    process = play.agent.start()
    play.end(process, answer=approve_the_first)
    assert (play.effects(), told(process)["last"]) == ([["4711", 250]], "done")
