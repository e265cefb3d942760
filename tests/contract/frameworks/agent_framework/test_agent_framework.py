"""Microsoft Agent Framework: `middleware=[DeskMiddleware(desk, ...)]`, with the package as people install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("agent-framework", "edit", "reject", "answer")
def test_the_agent_framework_runs_what_was_approved_and_tells_the_model_the_rest(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99}, comment="Half.")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    assert told(program) == {
        "ran": [["4711", 99]],
        "messages": {
            "refund": 'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half.\n\nrefunded 99',
            "drop": "A person declined this call: Not on a Friday. Do not repeat it.",
            "ask_human": "red",
        },
        "last": "done",
    }
    assert agent.result(waiting["refund"]) == "refunded 99"


@pytest.mark.shows("agent-framework", "once")
@pytest.mark.shows("agent-framework", "raises", "pauses")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "approve", comment="Once.")
    agent.decide(waiting["drop"], "approve")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    assert sorted(map(str, told(program)["ran"])) == ["['4711', 250]", "orders"]
    assert agent.result(waiting["refund"]) == "refunded 250"
    assert "orders is locked" in agent.failure(waiting["drop"])
    second = told(agent.start())
    assert (second["ran"], second["messages"]) == (
        [],
        {
            "refund": "A person approved this call: Once.\n\nrefunded 250",
            "drop": f"This call has run already, and failed: {agent.failure(waiting['drop'])}",
            "ask_human": "red",
        },
    )


@pytest.mark.parametrize(("mode", "reason"), [
    ("less", "The agent has no tool named 'refund', so no one would be asked. It has 'ask_human', 'drop'."),
    ("inner", "The tool 'inner' is an agent of its own, whose calls of 'ask_human', 'refund' would run unasked: "
     "a middleware is for one agent. Give that agent a DeskMiddleware, too."),
])  # fmt: skip
@pytest.mark.shows("agent-framework", "agents", "names")
def test_a_tool_that_would_run_unasked_ends_the_first_run(agent, mode, reason):
    agent.command.append(mode)
    errors = agent.start().communicate()[1]
    assert errors.splitlines()[-1] == f"pausepoint.gate.errors.NotGated: {reason}"


@pytest.mark.shows("agent-framework", "readable")
def test_calls_that_would_run_unasked_end_the_run_and_pauses_and_endings_are_no_failures(agent):
    agent.command[1] = str(Path(__file__).parent / "unasked.py")
    program = agent.start()
    pause = agent.waiting(1)["pause"]
    agent.decide(pause, "approve")
    stop = agent.waiting(1)["stop"]
    agent.decide(stop, "approve")
    found = told(program)
    lacks = "The agent has no tool named {}, so no one would be asked. It has {}."
    assert (found["named"], found["first"], found["second"], found["plain"], found["checked"]) == (
        "'web_search' runs at the provider of the model, where no one can be asked. "
        "Take it from the agent, or name the tools to ask about without it.",
        "done",
        lacks.format("'drop'", "'refund', 'wipe'"),
        lacks.format("'drip'", "'wipe'"),
        "done",
    )
    assert found["ran"] == ["orders", "orders", "paused", "paused", "stopped"]
    assert (agent.whole(pause)["result"], agent.result(stop)) == (None, "stopped")


@pytest.mark.shows("agent-framework", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "respond", answer="blue")
    found = told(agent.start())
    assert (found["ran"], found["messages"]["ask_human"]) == ([["4711", 250]], "blue")


@pytest.mark.shows("agent-framework", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    found = told(program)
    assert (found["ran"], found["messages"]) == (
        [],
        {
            "refund": "This call was cancelled: The order is closed. Do not repeat it.",
            "drop": "No one decided in time, so this call was not run.",
            "ask_human": "No one answered in time.",
        },
    )
