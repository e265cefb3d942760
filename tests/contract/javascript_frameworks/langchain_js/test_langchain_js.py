"""Agents of LangChain and graphs of LangGraph for JavaScript, with the code of the how-to page."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import OTHER, REFUND, Play
from tests.contract.frameworks.conftest import told
from tests.contract.javascript_frameworks.checks import (
    check_decisions,
    check_first_program,
    check_killed_while_asking,
    check_types,
    check_undecided,
    halt,
)

pytestmark = pytest.mark.server


@pytest.mark.shows("langchain-js", "approve", "edit", "reject", "answer", "once")
def test_gated_tools_run_what_was_approved_and_the_model_reads_changes_and_words(program):
    check_decisions(program("agent", 0, 2))


@pytest.mark.shows("langchain-js", "expire", "cancel")
def test_calls_that_no_one_decides_do_not_run_and_the_model_is_told_why(program):
    check_undecided(program("agent", 0, 2))


@pytest.mark.shows("langchain-js", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(program):
    check_killed_while_asking(program("agent", 0, 2))


def test_the_types_of_the_adapter_fit(framework):
    check_types(framework)


def test_the_first_program_of_the_page_runs_as_pasted(program):
    check_first_program(program("page", 1))


@pytest.mark.parametrize("name", ["agent", "graph"])
def test_a_graph_that_the_policy_stops_is_interrupted_and_its_waiting_calls_do_not_run(program, tmp_path, name):
    out, _ = halt(Play(program(name, *((0, 2) if name == "agent" else ())), tmp_path))
    assert '"halted":"No one decided in time' in out


@pytest.mark.shows("langchain-js", "names")
def test_what_could_run_unasked_is_refused_and_the_model_reads_words_with_results_of_every_form(program):
    agent = program("refused")
    process = agent.start()
    for request in agent.waiting(4).values():
        agent.decide(request, "approve", comment="Be quick")
    found = told(process)
    unknown, empty, hosted = found["refusals"]
    assert unknown.startswith('TypeError: No tool has the name "refnd", so people would not be asked about it.')
    assert empty.startswith("TypeError: `tools` is an empty list")
    assert hosted.startswith('TypeError: The tool "hosted" is not made by `tool(...)`')
    paid = ["The person who approved it says: Be quick.\n\npaid"] * 4
    assert (found["read"], found["again"], found["artifact"]) == (paid, paid, {"receipt": 1})


@pytest.mark.shows("langchain-js", "agents")
@pytest.mark.lacks(
    "langchain-js",
    "agents",
    "People are asked about the tool that runs another agent, but not about that agent's calls, unless its tools are gated "
    "themselves.",
)
def test_the_calls_of_a_graph_in_a_tool_of_another_agent_ask_also_those_with_one_id(program, tmp_path):
    play = Play(program("graph"), tmp_path)
    play.model([play.call("refund", REFUND), play.call("refund", OTHER)])

    def approve_the_first(request):
        play.agent.decide(request, "approve" if play.agent.whole(request)["input"] == REFUND else "reject")

    process = play.agent.start()
    play.end(process, answer=approve_the_first)
    assert (play.effects(), told(process)["last"]) == ([["4711", 250]], "done")
