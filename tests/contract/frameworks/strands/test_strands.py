"""Strands: `hooks=[DeskHook(desk, ...)]`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.cases import CHANGED, HALTED, REFUND, Play
from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


def test_the_first_program_of_the_page_runs_what_was_approved_and_nothing_that_was_rejected(agent, tmp_path):
    play = Play(agent, tmp_path)
    agent.command.append("first")
    play.model([play.call("refund", REFUND)])
    assert play.run(play.approve) == ["250 of order 4711 refunded"]
    rejected = play.run(lambda request: agent.decide(request, "reject", comment="Not on a Friday"))
    assert rejected == ["A person declined this call: Not on a Friday. Do not repeat it."]


@pytest.mark.shows("strands", "edit", "reject", "answer")
def test_strands_runs_what_was_approved_and_tells_the_model_the_rest(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    assert agent.whole(waiting["refund"])["agent"] == "billing"
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input=CHANGED, comment="Half.")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    change = 'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half.'
    assert told(program) == {
        "ran": [["4711", 99]],
        "messages": [
            f"{change}\nrefunded 99",
            "A person declined this call: Not on a Friday. Do not repeat it.",
            "red",
        ],
        "last": "done",
    }
    assert agent.result(waiting["refund"]) == "refunded 99"


@pytest.mark.shows("strands", "once")
@pytest.mark.shows("strands", "raises", "pauses")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "approve", comment="Once.")
    agent.decide(waiting["drop"], "approve")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    first, second = told(program), told(agent.start())
    assert (sorted(first["ran"], key=str), second["ran"]) == ([["4711", 250], "orders"], [])
    assert second["messages"] == [
        "A person approved this call: Once.\n\nrefunded 250",
        "This call has run already, and failed: RuntimeError: orders is locked",
        "red",
    ]
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"


@pytest.mark.parametrize("mode", ["changed", "repeated"])
def test_a_call_that_another_hook_changes_later_or_repeats_runs_once_as_approved(agent, tmp_path, mode):
    play = Play(agent, tmp_path)
    agent.command.append(mode)
    play.model([play.call("refund", REFUND)])
    assert play.run(play.approve_refunds) == ["refunded 250"]
    assert play.effects() == [["4711", 250]]


def test_a_deadline_at_which_the_policy_stops_the_run_ends_it(agent, tmp_path):
    play = Play(agent, tmp_path)
    play.model([play.call("refund", HALTED), play.call("look", {"order": "4711"})], [play.call("drop", {"table": "a"})])
    program = agent.start()
    play.end(program, answer=lambda request: agent.let_expire(request))
    errors = program.communicate()[1].splitlines()
    cause, raised = (
        [line for line in errors if "the policy stops the run now" in line and line.startswith(prefix)]
        for prefix in ("pausepoint.gate.errors.Halted: ", "strands.types.exceptions.EventLoopException: ")
    )
    assert (len(cause), len(raised)) == (1, 1)
    assert play.effects() == ["looked"]


@pytest.mark.parametrize(("mode", "reason"), [
    ("less", "The agent has no tool named 'refund', so no one would be asked. It has 'ask_human', 'drop', 'look'."),
    ("inner", "The tool 'clerk' is an agent of its own, whose calls of 'refund' would run unasked: hooks are for one agent. "
     "Give that agent a DeskHook, too."),
])  # fmt: skip
@pytest.mark.shows("strands", "names")
def test_a_tool_that_would_run_unasked_ends_the_run(agent, mode, reason):
    agent.command.append(mode)
    errors = agent.start().communicate()[1]
    assert errors.splitlines()[-1] == f"pausepoint.gate.errors.NotGated: {reason}"


@pytest.mark.parametrize(("verdict", "ran"), [("approve", [["4711", 250]]), ("reject", [])])
@pytest.mark.shows("strands", "agents")
def test_an_agent_that_is_a_tool_asks_with_its_own_hook(agent, tmp_path, verdict, ran):
    play = Play(agent, tmp_path)
    agent.command.append("clerk")
    play.model([play.call("clerk", {"input": "Refund 4711"})], [play.call("refund", REFUND)])
    play.run(lambda request: agent.decide(request, verdict))
    assert play.effects() == ran


@pytest.mark.shows("strands", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "reject", comment="I do not know")
    found = told(agent.start())
    assert found["ran"] == [["4711", 250]]
    assert found["messages"][-1] == "A person declined to answer: I do not know."


@pytest.mark.shows("strands", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    found = told(program)
    assert (found["ran"], found["messages"]) == (
        [],
        [
            "This call was cancelled: The order is closed. Do not repeat it.",
            "No one decided in time, so this call was not run.",
            "No one answered in time.",
        ],
    )
