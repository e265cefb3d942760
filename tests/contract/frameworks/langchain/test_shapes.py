"""LangGraph: each shape of an interrupt gets the answer that it expects, with the package as people install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import told

pytestmark = pytest.mark.server


def test_every_shape_of_an_interrupt_gets_the_answer_that_it_expects(agent):
    agent.command[1] = str(Path(__file__).parent / "shapes.py")
    program = agent.start()
    waiting = agent.waiting(11)
    agent.decide(waiting["Which text?"], "respond", answer="this one")
    field = waiting["Which field?"]
    agent.decide(field, "respond", answer={"selected": ["M"]})
    assert agent.whole(waiting["Which value?"])["context"] == {"question": "Which value?", "draft": {"words": 3}}
    agent.decide(waiting["Which value?"], "reject", comment="No idea")
    agent.decide(waiting["Which size?"], "respond", answer={"size": 3})
    send = waiting["send"]
    assert agent.whole(send)["message"] == "Send **it**"
    agent.decide(send, "edit", edited_input={"to": "bob"})
    inbox_drop, call_drop = sorted(
        (one for one in agent.every_waiting() if one["tool_name"] == "drop"),
        key=lambda one: one["thread_id"],
        reverse=True,
    )
    agent.decide(inbox_drop, "reject", comment="Keep it")
    agent.decide(waiting["Which inbox?"], "respond", answer="that one")
    agent.decide(waiting["First?"], "respond", answer="one")
    refused = agent.try_to_decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": "all"})
    assert (refused.status, list(refused.body["errors"])) == (422, ["edited_input.amount"])
    agent.decide(waiting["refund"], "edit", edited_input={"order": "4711", "amount": 99})
    agent.decide(call_drop, "reject", comment="Not on a Friday")
    agent.decide(waiting["Which colour?"], "respond", answer="red")
    agent.decide(agent.waiting(1)["Second?"], "respond", answer="two")
    found = told(program)["found"]
    assert found.pop("fields") == [
        {
            "status": "answered",
            "answer": {"fieldName": "", "selected": ["M"], "selectedIndex": 1},
            "input": None,
            "comment": "",
            "by": "API key remote of approver",
            "request_id": field["id"],
            "halted": False,
        }
    ]
    calls = found.pop("calls")
    assert found == {
        "text": ["this one"],
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
    assert calls["refund"][1].endswith("refunded 99")
    assert calls["drop"] == [
        "error",
        "User rejected the tool call for `drop` with reason: "
        "A person declined this call: Not on a Friday. Do not repeat it.",
    ]
    assert calls["ask_human"] == ["success", "red"]
    assert agent.result(waiting["refund"]).endswith("refunded 99")
