"""Google ADK: `plugins=[DeskPlugin(desk, ...)]`, with the package as people install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("google-adk", "edit", "reject", "answer")
def test_google_adk_runs_what_was_approved_and_tells_the_model_the_rest(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    assert agent.whole(waiting["refund"])["agent"] == "billing"
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99}, comment="Half.")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    assert told(program) == {
        "ran": [["4711", 99]],
        "messages": {
            "refund": {
                "result": "refunded 99",
                "note": 'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half.',
            },
            "drop": {"error": "A person declined this call: Not on a Friday. Do not repeat it."},
            "ask_human": {"result": "red"},
        },
        "last": "done",
    }
    assert agent.result(waiting["refund"]) == "refunded 99"


@pytest.mark.shows("google-adk", "once")
@pytest.mark.shows("google-adk", "raises", "pauses")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "approve", comment="Once.")
    agent.decide(waiting["drop"], "approve")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    assert "RuntimeError: orders is locked" in program.communicate()[1]
    assert agent.result(waiting["refund"]) == "refunded 250"
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"
    assert told(agent.start()) == {
        "ran": [],
        "messages": {
            "refund": {"result": "refunded 250", "note": "A person approved this call: Once."},
            "drop": {"error": "This call has run already, and failed: RuntimeError: orders is locked"},
            "ask_human": {"result": "red"},
        },
        "last": "done",
    }


@pytest.mark.shows("google-adk", "names")
def test_a_named_tool_that_no_agent_has_ends_the_first_run(agent):
    agent.command.append("less")
    assert (
        "NotGated: The agent has no tool named 'refund', so no one would be asked. It has 'ask_human', 'drop'."
        in agent.start().communicate()[1]
    )


@pytest.mark.shows("google-adk", "readable")
def test_calls_that_would_run_unasked_end_the_run_of_every_app_also_a_live_one(agent):
    agent.command[1] = str(Path(__file__).parent / "unasked.py")
    elsewhere = (
        "'google_search' runs at the provider of the model, where no one can be asked. "
        "Take it from the agent, or name the tools to ask about without it."
    )
    lacks = "The agent has no tool named {}, so no one would be asked. It has {}."
    assert told(agent.start()) == {
        "ran": ["orders"],
        "named": elsewhere,
        "unnamed": elsewhere,
        "beside": "done",
        "first": "done",
        "second": lacks.format("'drop'", "'refund', 'wipe'"),
        "live": lacks.format("'drip'", "'wipe'"),
    }


@pytest.mark.shows("google-adk", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "reject", comment="I do not know")
    found = told(agent.start())
    assert found["ran"] == [["4711", 250]]
    assert found["messages"]["ask_human"] == {"error": "A person declined to answer: I do not know."}


@pytest.mark.shows("google-adk", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    found = told(program)
    assert (found["ran"], found["messages"]) == (
        [],
        {
            "refund": {"error": "This call was cancelled: The order is closed. Do not repeat it."},
            "drop": {"error": "No one decided in time, so this call was not run."},
            "ask_human": {"error": "No one answered in time."},
        },
    )
