"""OpenAI Agents SDK: `await run_with_desk(agent, input, desk)`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("openai-agents", "edit", "reject")
def test_openai_agents_run_what_was_approved_once_and_nothing_else(agent):
    program = agent.start()
    waiting = agent.waiting(2)
    agent.refuse_a_bad_edit(waiting["refund"])
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99}, comment="Half.")
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    again = agent.waiting(1)["refund"]
    assert agent.whole(again)["input"] == {"order": "4711", "amount": 99}
    agent.decide(again, "reject", comment="Once is enough")
    assert told(program) == {
        "ran": [["4711", 99]],
        "last": "done",
        "outputs": {
            "refund": 'A person changed the input of this call to {"order": "4711", "amount": 99} and says: Half. '
            "It was not run. Make the call again with exactly this input.",
            "drop": "A person declined this call: Not on a Friday. Do not repeat it.",
            "again": "refunded 99",
            "more": "A person declined this call: Once is enough. Do not repeat it.",
        },
        "events": [],
    }
    assert agent.result(waiting["refund"]) == "refunded 99"


def decided(agent):
    """The outputs of a run whose calls were approved, and whose repetitions were rejected."""
    program = agent.start()
    waiting = agent.waiting(2)
    agent.decide(waiting["drop"], "approve")
    agent.decide(waiting["refund"], "approve")
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    return waiting, told(program)


@pytest.mark.parametrize("mode", ["wait", "stream", "handled"])
@pytest.mark.shows("openai-agents", "once")
def test_a_run_that_begins_again_gets_the_results_and_runs_nothing_twice(agent, mode):
    agent.environment["LOCKED"] = "yes"
    agent.command.append(mode)
    waiting, first = decided(agent)
    assert first["ran"] in ([["4711", 250], "orders"], ["orders", ["4711", 250]])
    assert agent.result(waiting["refund"]) == "refunded 250"
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"
    second = told(agent.start())
    known = {
        "refund": "This call has run already, and returned: refunded 250",
        "drop": "This call has run already, and failed: RuntimeError: orders is locked",
    }
    assert (second["ran"], second["outputs"]) == ([], first["outputs"] | known)
    assert ("tool_output" in second["events"]) == (mode == "stream")


@pytest.mark.shows("openai-agents", "raises", "pauses")
def test_a_tool_whose_error_ends_the_run_is_recorded_as_failed(agent):
    agent.environment["LOCKED"] = "yes"
    agent.command.append("strict")
    program = agent.start()
    waiting = agent.waiting(2)
    agent.decide(waiting["refund"], "reject")
    agent.decide(waiting["drop"], "approve")
    assert "orders is locked" in program.communicate()[1]
    assert agent.failure(waiting["drop"]) == "RuntimeError: orders is locked"


@pytest.mark.shows("openai-agents", "approve", "crash")
def test_a_killed_agent_finds_its_requests_when_it_is_started_again(agent):
    waiting = agent.killed_while_asking(2)
    agent.decide(waiting["refund"], "approve")
    agent.decide(waiting["drop"], "reject")
    second = agent.start()
    for _ in range(2):
        agent.decide(agent.waiting(1)["refund"], "reject")
    assert told(second)["ran"] == [["4711", 250]]


@pytest.mark.shows("openai-agents", "expire", "cancel")
def test_calls_that_nobody_decides_do_not_run_and_the_model_is_told_why(agent):
    program = agent.start()
    waiting = agent.waiting(2)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"])
    for _ in range(2):
        agent.let_expire(agent.waiting(1)["refund"])
    found = told(program)
    late = "No one decided in time, so this call was not run."
    assert (found["ran"], found["outputs"]) == (
        [],
        {
            "refund": "This call was cancelled: The order is closed. Do not repeat it.",
            "drop": late,
            "again": late,
            "more": late,
        },
    )
