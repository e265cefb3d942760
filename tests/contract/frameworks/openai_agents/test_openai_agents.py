"""OpenAI Agents SDK: `await run_with_desk(agent, input, desk)`, with the package as people install it."""

from __future__ import annotations

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


@pytest.mark.shows("openai-agents", "edit", "reject")
def test_openai_agents_run_what_was_approved_once_and_nothing_else(agent):
    program = agent.start()
    waiting = agent.waiting(2)
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    again = agent.waiting(1)["refund"]
    assert agent.whole(again)["input"] == {"order": "4711", "amount": 99}
    agent.decide(again, "reject", comment="Once is enough")
    assert told(program) == {"ran": [["4711", 99]], "last": "done"}
    assert agent.result(waiting["refund"]) == "refunded 99"


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
def test_calls_that_nobody_decides_do_not_run(agent):
    program = agent.start()
    waiting = agent.waiting(2)
    agent.withdraw(waiting["refund"], "The order is closed")
    agent.let_expire(waiting["drop"])
    for _ in range(2):
        agent.let_expire(agent.waiting(1)["refund"])
    assert told(program)["ran"] == []
