"""The scripted provider plays its script word by word and deterministically."""

from __future__ import annotations

import asyncio

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import SCRIPT, support
from chats.agent.events import ModelFinished, TextDelta, ToolInputDelta, ToolInputReady
from chats.agent.provider import ModelMessage, ModelRequest
from chats.agent.script import Conversation, Say, Use, fill
from chats.providers.scripted import ScriptedProvider


def user(text: str) -> ModelMessage:
    return ModelMessage("user", [{"type": "text", "text": text}])


def result(content: str) -> ModelMessage:
    return ModelMessage("user", [{"type": "tool_result", "tool_use_id": "c", "content": content}])


def play(agent: Agent, *messages: ModelMessage):
    async def collect():
        return [event async for event in ScriptedProvider().stream(ModelRequest(agent, messages))]

    return asyncio.run(collect())


def agent(*steps) -> Agent:
    return Agent(name="a", script=[Conversation(r"order (?P<n>\d+)", steps, example="order 7")])


def test_the_deltas_add_up_to_the_text():
    events = play(support, user("hello"))
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 5
    assert events[-1].blocks == [{"type": "text", "text": "".join(deltas)}]
    assert events[-1].stop_reason == "end_turn"


def test_a_tool_input_is_streamed_as_fragments_of_json():
    events = play(agent([Use("buy", {"n": "{n:number}", "note": "order {n}"})]), user("ORDER 12"))
    fragments = [event.text for event in events if isinstance(event, ToolInputDelta)]
    (ready,) = [event for event in events if isinstance(event, ToolInputReady)]
    assert ("".join(fragments), ready.input) == ('{"n": 12, "note": "order 12"}', {"n": 12, "note": "order 12"})
    assert events[-1].stop_reason == "tool_use"


def test_each_step_follows_the_results_of_the_one_before():
    steps = [Use("buy")], [Say("Got {results[0]}, all: {answers}, odd: {what}")]
    use = ModelMessage("assistant", [{"type": "tool_use", "id": "c", "name": "buy", "input": {}}])
    events = play(agent(*steps), user("order 1"), use, result('{"selected": ["A", "B"], "text": ""}'))
    assert events[-1].blocks[0]["text"] == "Got A, B, all: A, B, odd: {what}"
    assert play(agent(*steps), user("order 1"), use, result("x"), ModelMessage("assistant", [])) == [
        ModelFinished([], "end_turn", "scripted", {"input_tokens": 2, "output_tokens": 0})
    ]


def test_an_unknown_sentence_is_answered_with_the_known_ones():
    assert "`order 7`" in play(agent([Say("x")]), user("what?"))[-1].blocks[0]["text"]


def test_the_answer_is_the_same_every_time():
    said = [play(support, user("hello"))[-1].blocks for _ in range(2)]
    assert said[0] == said[1]


@pytest.mark.parametrize("conversation", SCRIPT, ids=lambda conversation: conversation.example)
def test_every_example_of_the_demo_plays_its_own_conversation(conversation):
    assert next(c for c in SCRIPT if c.match(conversation.example) is not None) is conversation


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{n:number}", 12),
        ("{d:number}", 9.5),
        ("n is {n}", "n is 12"),
        ({"a": ["{n}", 1, None]}, {"a": ["12", 1, None]}),
        ("{list[0]}{list[9]}", "x"),
        ("{unknown}", "{unknown}"),
    ],
)
def test_placeholders_in_templates_are_filled(template, filled):
    assert fill(template, {"n": "12", "d": "9,5", "list": ["x"]}) == filled
