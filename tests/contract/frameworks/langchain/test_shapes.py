"""LangGraph: each shape of an interrupt gets the answer that it expects, with the package as people install it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks import environments
from tests.contract.frameworks.conftest import Agent, told

pytestmark = pytest.mark.server


def start(agent: Agent, kind: str) -> Any:
    agent.command[1] = str(Path(__file__).parent / "shapes.py")
    agent.command.append(kind)
    return agent.start()


def test_every_shape_of_an_interrupt_gets_the_answer_that_it_expects(agent):
    program = start(agent, "values")
    waiting = agent.waiting(8)
    agent.decide(waiting["Which text?"], "respond", answer="this one")
    field = waiting["Which field?"]
    agent.decide(field, "respond", answer={"selected": ["M"]})
    assert agent.whole(waiting["Which value?"])["context"] == {"question": "Which value?", "draft": {"words": 3}}
    agent.decide(waiting["Which value?"], "reject", comment="No idea")
    agent.decide(waiting["Which size?"], "respond", answer={"size": 3})
    send = waiting["send"]
    assert agent.whole(send)["message"] == "Send **it**"
    agent.decide(send, "edit", edited_input={"to": "bob"})
    agent.decide(waiting["drop"], "reject", comment="Keep it")
    agent.decide(waiting["Which inbox?"], "respond", answer="that one")
    agent.decide(waiting["First?"], "respond", answer="one")
    agent.decide(agent.waiting(1)["Second?"], "respond", answer="two")
    assert told(program)["found"] == {
        "text": ["this one"],
        "fields": [
            {
                "status": "answered",
                "answer": {"fieldName": "", "selected": ["M"], "selectedIndex": 1},
                "input": None,
                "comment": "",
                "by": "API key remote of approver",
                "request_id": field["id"],
                "halted": False,
            }
        ],
        "values": [None],
        "form": [{"size": 3}],
        "inbox": [
            [
                {"type": "edit", "args": {"action": "send", "args": {"to": "bob"}}},
                {"type": "response", "args": "A person declined this call: Keep it. Do not repeat it."},
                {"type": "response", "args": "that one"},
            ]
        ],
        "twice": ["one", "two"],
    }


@pytest.mark.skipif(environments.LOWEST, reason="langchain 1.3 asks about all calls of a message in one interrupt")
def test_calls_that_are_asked_about_one_by_one_get_the_decisions_that_they_expect(agent):
    program = start(agent, "calls")
    waiting = agent.waiting(3)
    refused = agent.try_to_decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": "all"})
    assert (refused.status, list(refused.body["errors"])) == (422, ["edited_input.amount"])
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(waiting["drop"], "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    calls = told(program)["found"]["calls"]
    assert calls["refund"][1].endswith("refunded 99")
    assert calls["drop"] == [
        "error",
        "User rejected the tool call for `drop` with reason: "
        "A person declined this call: Not on a Friday. Do not repeat it.",
    ]
    assert calls["ask_human"] == ["success", "red"]
    assert agent.result(waiting["refund"]).endswith("refunded 99")
