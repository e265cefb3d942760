"""pydantic-ai: `capabilities=[HandleDeferredToolCalls(desk)]`, with the package as people install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("pydantic-ai", "edit", "reject", "answer", "person")
def test_pydantic_ai_runs_what_was_approved_and_tells_the_model_the_rest(agent):
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
        "drop": ["denied", "A person declined this call: Not on a Friday. Do not repeat it."],
        "ask_human": ["success", "red"],
    }
    assert found["answered_by"] == dict.fromkeys(("refund", "drop", "ask_human"), "API key remote of approver")
    assert agent.result(waiting["refund"]) == "refunded 99"


@pytest.mark.shows("pydantic-ai", "once")
@pytest.mark.shows("pydantic-ai", "raises", "pauses")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent):
    agent.environment["LOCKED"] = "yes"
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "approve", comment="Once.")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    agent.decide(waiting["drop"], "approve")
    assert "RuntimeError: orders is locked" in program.communicate()[1]
    assert agent.result(waiting["refund"]) == "refunded 250"
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"
    assert told(agent.start()) == {
        "ran": [],
        "messages": {
            "refund": ["success", "A person approved this call: Once.\n\nrefunded 250"],
            "drop": ["failed", "This call has run already, and failed: RuntimeError: orders is locked"],
            "ask_human": ["success", "red"],
        },
        "last": "done",
        "answered_by": dict.fromkeys(("refund", "drop", "ask_human"), "API key remote of approver"),
    }


def test_a_run_that_streams_its_events_waits_for_people(agent):
    agent.command.append("events")
    program = agent.start()
    waiting = agent.waiting(3)
    for name in ("refund", "drop"):
        agent.decide(waiting[name], "approve")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    # Both run at once, each when it has claimed its lease.
    assert sorted(told(program)["ran"], key=str) == [["4711", 250], "orders"]


def test_run_stream_is_refused_before_the_model_is_asked(agent):
    agent.command.append("stream")
    errors = agent.start().communicate()[1]
    assert errors.splitlines()[-1] == (
        "pydantic_ai.exceptions.UserError: run_stream ends with the first call that needs an approval, so no one can be "
        "asked about refund, drop. Use run, run_stream_events or iter."
    )


@pytest.mark.shows("pydantic-ai", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(3)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    agent.decide(waiting["Which colour?"], "reject", comment="I do not know")
    found = told(agent.start())
    assert found["ran"] == [["4711", 250]]
    assert found["messages"]["ask_human"] == ["success", "A person declined to answer: I do not know."]


@pytest.mark.shows("pydantic-ai", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"], waiting["Which colour?"])
    found = told(program)
    assert (found["ran"], found["messages"]) == (
        [],
        {
            "refund": ["denied", "This call was cancelled: The order is closed. Do not repeat it."],
            "drop": ["denied", "No one decided in time, so this call was not run."],
            "ask_human": ["success", "No one answered in time."],
        },
    )


def test_a_result_beside_a_gated_call_does_not_end_the_run_before_people_have_decided(agent):
    agent.command[1:] = [str(Path(__file__).parent / "with_result.py"), agent.thread]
    program = agent.start()
    agent.decide(agent.waiting(1)["refund"], "approve")
    assert told(program) == {"ran": [["4711", 250]], "last": "refunded 250"}
