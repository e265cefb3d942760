"""pydantic-ai: `capabilities=[HandleDeferredToolCalls(desk)]`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("pydantic-ai", "edit", "reject", "answer", "person")
def test_pydantic_ai_runs_what_was_approved_and_tells_the_model_the_rest(agent):
    program = agent.start()
    waiting = agent.waiting(3)
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    found = told(program)
    assert found["ran"] == [["4711", 99]]
    assert found["messages"] == {
        "refund": ["success", "refunded 99"],
        "drop": ["denied", "A person declined this call: Not on a Friday. Do not repeat it."],
        "ask_human": ["success", "red"],
    }
    assert found["answered_by"] == dict.fromkeys(("refund", "drop", "ask_human"), "API key remote of approver")
    assert agent.result(waiting["refund"]) == "refunded 99"


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
            "drop": ["denied", "Nobody decided in time, so this call was not run."],
            "ask_human": ["success", "Nobody answered in time."],
        },
    )
