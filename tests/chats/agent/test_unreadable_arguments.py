"""A call whose arguments cannot be read is not run, and its result says why."""

from __future__ import annotations

from typing import Any

import pytest

from chats.agent.agent import Agent
from chats.agent.loop import plan_call
from chats.agent.tools import tool
from chats.providers.inputs import input_of


@tool
def note(words: str) -> str:
    """Write a note."""
    return words


@tool
def anything(unreadable: str = "", why: str = "") -> dict[str, Any]:
    """Accept any input."""
    return {"unreadable": unreadable, "why": why}


AGENT = Agent(name="clerk", title="Clerk", system="", tools=(note, anything), script=())


@pytest.mark.parametrize("text", ['{"words": "a', '{"words": NaN}', "[1]", '"text"', '{"words": 1, "words": 2}'])
def test_the_result_says_why_the_arguments_could_not_be_read(text):
    value = input_of(text)
    for name in ("note", "anything"):
        planned = plan_call(AGENT, "call_1", name, value)
        assert (planned.tool, planned.error_text) == (
            None,
            f"The arguments of {name} could not be read, so it was not run: {value['why']}. Send one JSON object.",
        )


def test_arguments_that_can_be_read_are_checked_as_ever():
    planned = plan_call(AGENT, "call_1", "note", input_of('{"words": "hello"}'))
    assert (planned.tool, planned.error_text) == (note, "")
