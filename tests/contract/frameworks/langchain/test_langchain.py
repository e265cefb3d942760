"""LangChain: `middleware=[DeskApproval(desk, ...)]`, with the package as people install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.parametrize("loop", ["sync", "async"])
@pytest.mark.shows("langchain", "edit", "reject", "answer")
def test_langchain_runs_what_was_approved_and_tells_the_model_the_rest(agent, loop):
    agent.command.append(loop)
    program = agent.start()
    waiting = agent.waiting(3)
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99}, comment="Half.")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    found = told(program)
    assert found["ran"] == [["4711", 99]]
    assert found["messages"] == {
        "refund": [
            "success",
            'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half.\n\nrefunded 99',
        ],
        "drop": ["error", "A person declined this call: Not on a Friday. Do not repeat it."],
        "ask_human": ["success", "red"],
    }
    assert found["last"] == "done"
    assert agent.result(waiting["refund"]) == "refunded 99"


@pytest.mark.parametrize("loop", ["sync", "async"])
@pytest.mark.shows("langchain", "once")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent, loop):
    agent.command.append(loop)
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "approve", comment="Once.")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    first, second = told(program), told(agent.start())
    assert (first["ran"], second["ran"]) == ([["4711", 250]], [])
    assert first["messages"]["refund"] == ["success", "A person approved this call: Once.\n\nrefunded 250"]
    assert second["messages"] == first["messages"]
    assert agent.result(waiting["refund"]) == "refunded 250"


def test_a_call_that_has_failed_is_not_run_again(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "reject")
    agent.decide(waiting["Which colour?"], "reject")
    agent.decide(waiting["drop"], "approve")
    assert "RuntimeError: orders is locked" in program.communicate()[1]
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"
    second = told(agent.start())
    failed = "This call has run already, and failed: RuntimeError: orders is locked"
    assert (second["ran"], second["messages"]["drop"]) == ([], ["error", failed])


@pytest.mark.parametrize("loop", ["sync", "async"])
@pytest.mark.shows("langchain", "names")
def test_a_named_tool_that_the_agent_lacks_ends_the_first_run(agent, loop):
    agent.command += [loop, "less"]
    errors = agent.start().communicate()[1]
    assert errors.splitlines()[-2:][0].endswith(
        "NotGated: The agent has no tool named 'refund', so no one would be asked. It has 'ask_human', 'drop'."
    ), errors[-2000:]


@pytest.mark.shows("langchain", "readable")
def test_calls_that_would_run_unasked_end_the_run_of_every_agent(agent):
    agent.command[1:] = [str(Path(__file__).parent / "unasked.py"), agent.thread]
    elsewhere = (
        "runs at the provider of the model, where no one can be asked. "
        "Take it from the agent, or name the tools to ask about without it."
    )
    assert told(agent.start()) == {
        "ran": ["orders", "orders"],
        "named": f"'web_search' {elsewhere}",
        "unnamed": f"'google_search' {elsewhere}",
        "question": "done",
        "first": "done",
        "part": "done",
        "second": "The agent has no tool named 'refund', so no one would be asked. It has 'wipe'.",
    }


@pytest.mark.parametrize("loop", ["sync", "async"])
def test_an_approved_tool_that_pauses_the_graph_is_reported_when_it_has_run(agent, loop):
    agent.command[1:] = [str(Path(__file__).parent / "interrupting.py"), agent.thread, loop]
    program = agent.start()
    request = agent.waiting(1)["refund"]
    agent.decide(request, "approve")
    assert told(program) == {"ran": [], "asked": "Which card?", "last": "done"}
    assert agent.result(request) == "refunded 250 to visa"


@pytest.mark.shows("langchain", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "respond", answer="blue")
    found = told(agent.start())
    assert (found["ran"], found["messages"]["ask_human"]) == ([["4711", 250]], ["success", "blue"])


@pytest.mark.shows("langchain", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    found = told(program)
    assert (found["ran"], found["messages"]) == (
        [],
        {
            "refund": ["error", "This call was cancelled: The order is closed. Do not repeat it."],
            "drop": ["error", "No one decided in time, so this call was not run."],
            "ask_human": ["error", "No one answered in time."],
        },
    )
