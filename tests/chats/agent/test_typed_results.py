"""The result of a sub-agent with an output type for its caller."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from tests.chats.engine.test_nested import converse

pytestmark = pytest.mark.django_db(transaction=True)


class Offer(BaseModel):
    amount: int


def quoter(words: str) -> Agent:
    return Agent(name="quoter", output=Offer, script=(Conversation(r".", [[Say(words, pause=0)]]),))


def buyer(words: str) -> Agent:
    steps = [[Use("quoter", {"task": "quote"})], [Say("Bought.", pause=0)]]
    return Agent(name="buyer", tools=(quoter(words).as_tool(),), script=(Conversation(r".", steps),))


exact, wordy = buyer('{"amount": 5}'), buyer("About 5.")


@pytest.mark.parametrize(("agent", "output"), [("exact", {"amount": 5}), ("wordy", "About 5.")])
def test_a_sub_agent_with_an_output_type_returns_a_value_or_else_its_words(settings, agent, output):
    settings.HITL_AGENTS = [f"{__name__}.{agent}"]
    turn = converse("buy it")
    assert (turn.state, turn.tool_calls.get().output) == ("completed", output)
