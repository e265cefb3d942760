"""A turn that pauses again and again: what an answer and a pause look at does not grow with the steps before them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from approvals.models import ApprovalRequest
from chats.models import Turn
from chats.protocols.ai_sdk import body as ai_sdk_body
from chats.queries import projection
from chats.queries.values import StepView
from tests.support import people
from tests.support.chats.turns import checkpoints_of, expected_digests, folded, parts
from tests.support.machines import Client, machine


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many functions that are written in Python are called."""
    count = 0

    def called(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def answered(pauses: int) -> dict[str, Any]:
    """Return the body of an answer in a client's copy of a message with so many ended calls."""
    said: list[dict[str, Any]] = []
    for number in range(pauses):
        call = {"type": "tool-pay", "toolCallId": f"call_{number}", "input": {"amount": number, "to": ["Ann", "Bob"]}}
        result = {"state": "output-available", "output": {"paid": {"amount": number}}}
        said += [{"type": "step-start"}, {"type": "text", "text": "One more."}, call | result]
    return {"id": "c1", "messageId": "a1", "message": {"id": "a1", "role": "assistant", "parts": said}}


def test_an_answer_is_read_without_the_values_of_calls_that_have_ended():
    few, many = (calls_of(partial(ai_sdk_body.read, answered(pauses))) for pauses in (10, 110))
    # For each of three parts: is it an object of a known type, and is it a tool's?
    assert many - few <= 100 * 3 * 3


def test_a_request_says_the_end_of_what_was_said_before():
    steps = [StepView([{"type": "text", "text": f"This is step {number}."}]) for number in range(100)]
    assert projection.last_words(steps, 30) == "This is step 98.\n\nThis is step 99."
    assert [number for number, step in enumerate(steps) if step.made] == [98, 99]
    assert projection.last_words(steps[:2], 1000) == "This is step 0.\n\nThis is step 1."
    assert projection.last_words([], 1000) == ""


@pytest.mark.django_db(transaction=True)
def test_the_second_pause_of_a_run_tells_what_the_first_told_and_what_followed():
    client = Client(machine(people.bob()))
    client.say("ask twice")
    client.answer("Express")
    turn = Turn.objects.get()
    first, second = ApprovalRequest.objects.order_by("created_at")
    question = {"role": "user", "text": "ask twice"}
    assert first.said_before == [question, {"role": "assistant", "text": "Two things, one after the other."}]
    assert [said["role"] for said in second.said_before] == ["user", "assistant"]
    assert second.said_before[0] == question
    assert second.said_before[1]["text"].startswith("Two things, one after the other.\n\nNoted: ")
    wholes = folded(turn)
    assert (len(wholes), wholes[-1]) == (2, parts(turn))
    assert [row.digest for row in checkpoints_of(turn)] == expected_digests(checkpoints_of(turn), wholes)
