"""Golden transcripts of every shape of response, chunk by chunk, with ids replaced by names."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support import people
from tests.support.chats.wire_rules import problems
from tests.support.machines import Answer, Client, machine

pytestmark = pytest.mark.django_db(transaction=True)

DELIVERY = {"fieldName": "delivery", "selected": ["Express"], "selectedIndex": 1}


def shape(answer: Answer) -> list[str]:
    """Return a short transcript: deltas are merged, ids left out, tools and results named."""
    assert problems(answer.chunks) == []
    lines: list[str] = []
    for chunk in answer.chunks:
        words = [chunk["type"], chunk.get("toolName", ""), chunk.get("finishReason", ""), result(chunk)]
        line = " ".join(word for word in words if word)
        if not (lines and line == lines[-1] and line.endswith("-delta")):
            lines.append(line)
    return lines


def result(chunk: dict[str, Any]) -> str:
    if "output" in chunk:
        return re.sub(r"\d+", "N", str(chunk["output"])) if isinstance(chunk["output"], str) else "json"
    return str(chunk.get("errorText", ""))[:40]


TEXT = ["text-start", "text-delta", "text-end"]
INPUT = ["tool-input-start {0}", "tool-input-delta", "tool-input-available {0}"]


def used(name: str) -> list[str]:
    return [line.format(name) for line in INPUT]


def step(*lines: str) -> list[str]:
    return ["start-step", *lines, "finish-step"]


PAUSE = ["finish tool-calls"]
STOP = ["message-metadata", "finish stop"]
AFTERWARDS = [*step(*TEXT), *STOP]


@pytest.fixture
def client():
    return Client(machine(people.bob()))


def test_plain_text(client):
    assert shape(client.say("hello")) == ["start", *step(*TEXT), *STOP]


def test_a_server_tool_and_the_answer(client):
    result = "tool-output-available json"
    assert shape(client.say("weather")) == ["start", *step(*TEXT, *used("getWeather"), result), *AFTERWARDS]


def test_a_server_tool_that_fails(client):
    result = "tool-output-error The archive does not answer, so invoice "
    assert shape(client.say("fail tool")) == ["start", *step(*TEXT, *used("lookUpInvoice"), result), *AFTERWARDS]


def test_a_question_and_the_same_message_after_its_answer(client):
    assert shape(client.say("ask")) == ["start", *step(*TEXT, *used("askUser")), *PAUSE]
    paused = client.last["id"]
    answer = client.answer(DELIVERY)
    assert shape(answer) == ["start", *AFTERWARDS]
    assert answer.chunks[0] == {"type": "start", "messageId": paused}


def test_two_pauses_in_a_row(client):
    client.say("ask twice")
    assert shape(client.answer(DELIVERY)) == ["start", *step(*TEXT, *used("askUser")), *PAUSE]
    client.read()
    assert shape(client.answer("both")) == ["start", *AFTERWARDS]


def test_two_questions_at_once(client):
    assert shape(client.say("ask parallel")) == ["start", *step(*TEXT, *used("askUser"), *used("askUser")), *PAUSE]
    assert shape(client.answer(DELIVERY)) == ["start", *PAUSE]
    client.read()
    assert shape(client.answer("none")) == ["start", *AFTERWARDS]


def test_an_approval_requested_and_given(client):
    asked = ["tool-approval-request"]
    assert shape(client.say("approve refund")) == ["start", *step(*TEXT, *used("issueRefund"), *asked), *PAUSE]
    assert shape(client.rule(True)) == ["start", "tool-output-available json", *AFTERWARDS]


def test_an_approval_denied(client):
    client.say("approve refund")
    assert shape(client.rule(False, "too much")) == ["start", "tool-output-denied", *AFTERWARDS]


def test_a_declined_question_brings_no_tool_chunk_back(client):
    client.say("ask")
    client.calls()[0].update(state="output-error", errorText="closed")
    assert shape(client.post(messageId=client.last["id"])) == ["start", *AFTERWARDS]


def test_weather_question_and_approval_in_one_step(client):
    first = [*TEXT, *used("getWeather"), *used("askUser"), *used("issueRefund")]
    middle = ["tool-output-available json", "tool-approval-request"]
    assert shape(client.say("ask mixed")) == ["start", *step(*first, *middle), *PAUSE]
    client.fill(DELIVERY)
    assert shape(client.rule(True)) == ["start", "tool-output-available json", *AFTERWARDS]


def test_an_answer_in_the_tools_output_shape_is_streamed_back(client):
    client.say("ask human")
    answer = client.answer("Offer a free return")
    assert shape(answer) == ["start", "tool-output-available json", *AFTERWARDS]
    assert answer.chunks[1]["output"]["response"] == "Offer a free return"


def test_the_stored_result_of_a_late_answer_is_streamed_beside_a_new_one(client):
    client.say("ask parallel")
    other = Client(client.machine)
    other.read()
    other.answer("mine")
    client.fill("too late", "in time")
    answer = client.post(messageId=client.last["id"])
    assert shape(answer) == ["start", "tool-output-available mine", *AFTERWARDS]
    client.read()
    assert [part["output"] for part in client.calls()] == ["mine", "in time"]
