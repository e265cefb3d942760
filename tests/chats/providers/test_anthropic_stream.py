"""Claude's streamed answer: events to show at once, and blocks exactly as returned."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from itertools import chain, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chats.agent import events, loop
from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.providers.anthropic import AnthropicProvider
from tests.support.anthropic_server import (
    KEY,
    PING,
    AnthropicServer,
    Close,
    Reply,
    answer,
    block_events,
    end,
    error,
    redacted,
    says,
    text,
    thinking,
    tool_use,
)
from tests.support.chats.streams import read_into

AGENT = Agent(name="clerk", tools=[getWeather])
HELLO = [ModelMessage("user", [text("Hello")])]
BROKEN_OFF = "The model's answer ended before it was complete. Send your message again."
WAIT = "Wait a minute, then send your message again."
START = answer()[0]


@pytest.fixture
def claude():
    with AnthropicServer() as server:
        yield server


BY = {"model": "claude-sonnet-5-5-20260901", "message_id": "msg_1"}


def provider_at(claude, **given):
    return AnthropicProvider(api_key=KEY, model="claude-sonnet-5-5", base_url=claude.url, **given)


async def ask(claude, **given):
    stream = provider_at(claude, **given).stream(ModelRequest(AGENT, HELLO))
    return [event async for event in stream if not isinstance(event, events.AnswerMetered)]


async def text_and_error(claude):
    """Return the streamed text, and the error message that ended the answer."""
    shown = []
    with pytest.raises(ProviderError) as failure:
        await read_into(shown, provider_at(claude).stream(ModelRequest(AGENT, HELLO)))
    return shown, str(failure.value)


async def test_text_arrives_in_deltas_and_ends_as_one_block(claude):
    claude.will(says(text("Grüße 🌍!"), size=4, input_tokens=12, output_tokens=8, cache_read_input_tokens=3))
    *shown, finished = await ask(claude)
    assert shown == [
        events.TextStarted("text-0"),
        events.TextDelta("text-0", "Grüß"),
        events.TextDelta("text-0", "e 🌍!"),
        events.TextEnded("text-0"),
    ]
    assert replace(finished, prefix="") == events.ModelFinished(
        [text("Grüße 🌍!")],
        "end_turn",
        "claude-sonnet-5-5",
        {"input_tokens": 12, "output_tokens": 8, "cache_read_input_tokens": 3},
        answered_by=BY,
    )


async def test_inputs_of_parallel_calls_are_ready_once_complete(claude):
    blocks = [tool_use("toolu_1", "getWeather", city="Köln", n=42), tool_use("toolu_2", "getWeather"), text("Wait.")]
    claude.will(says(*blocks, stop_reason="tool_use", size=11))
    *shown, finished = await ask(claude)
    assert shown == [
        events.ToolInputStarted("toolu_1", "getWeather"),
        events.ToolInputDelta("toolu_1", '{"city": "K'),
        events.ToolInputDelta("toolu_1", 'öln", "n": '),
        events.ToolInputDelta("toolu_1", "42}"),
        events.ToolInputReady("toolu_1", "getWeather", {"city": "Köln", "n": 42}),
        events.ToolInputStarted("toolu_2", "getWeather"),
        events.ToolInputReady("toolu_2", "getWeather", {}),
        events.TextStarted("text-2"),
        events.TextDelta("text-2", "Wait."),
        events.TextEnded("text-2"),
    ]
    assert (finished.blocks, finished.stop_reason) == (blocks, "tool_use")


async def test_thoughts_are_streamed_and_kept_with_their_signatures(claude):
    blocks = [thinking("Hm, let me see.", "Sig+/natu=="), redacted("Zm9v+/=="), thinking("", "omitted"), text("Yes.")]
    claude.will(says(*blocks, size=10))
    *shown, finished = await ask(claude)
    assert shown[:4] == [
        events.ReasoningStarted("thinking-0"),
        events.ReasoningDelta("thinking-0", "Hm, let me"),
        events.ReasoningDelta("thinking-0", " see."),
        events.ReasoningEnded("thinking-0"),
    ]
    assert finished.blocks == blocks


async def test_a_thought_that_no_database_can_store_is_left_out(claude):
    claude.will(says(thinking("a\x00b", "broken by any change"), text("Yes.")))
    assert (await ask(claude))[-1].blocks == [text("Yes.")]


async def test_text_in_the_start_event_of_a_block_is_included(claude):
    first = {"type": "content_block_start", "index": 0, "content_block": thinking("Hm", "sig")}
    second = {"type": "content_block_start", "index": 1, "content_block": text("Yes")}
    third = {"type": "content_block_start", "index": 2, "content_block": tool_use("toolu_1", "getWeather", city="Rome")}
    claude.will(Reply(items=[START, first, second, third, *end("tool_use", output_tokens=4)]))
    *shown, finished = await ask(claude)
    assert shown == [
        events.ReasoningStarted("thinking-0"),
        events.ReasoningDelta("thinking-0", "Hm"),
        events.TextStarted("text-1"),
        events.TextDelta("text-1", "Yes"),
        events.ToolInputStarted("toolu_1", "getWeather"),
        # No block was stopped before the message ended.
        events.ReasoningEnded("thinking-0"),
        events.TextEnded("text-1"),
        events.ToolInputReady("toolu_1", "getWeather", {"city": "Rome"}),
    ]
    assert [block["type"] for block in finished.blocks] == ["thinking", "text", "tool_use"]


UNREADABLE = {
    '{"city": "Par': "not valid JSON: Unterminated string starting at: line 1 column 10 (char 9)",
    "[1, 2]": "not an object",
    '{"a": NaN}': "NaN is not JSON",
    '{"a": 1e999}': "NaN and Infinity are not JSON",
    '{"a": 9007199254740993}': "an integer is larger than 2^53; send it as a string",
    '{"a": "\\ud83d"}': "text contains a NUL or an unpaired surrogate",
    '{"a":' * 900 + "1" + "}" * 900: "nested too deeply",
    '{"a":' * 100_000: "has more than 10,000 values",
}


@pytest.mark.parametrize("written", UNREADABLE, ids=lambda written: written[:20])
async def test_an_input_that_cannot_be_stored_is_wrapped(claude, written):
    start, _, *rest, stop = block_events(0, tool_use("toolu_1", "getWeather", city=written), size=10**9)
    rest[0]["delta"]["partial_json"] = written
    claude.will(Reply(items=[START, start, *rest, stop, *end("tool_use", output_tokens=4)]))
    (block,) = (await ask(claude))[-1].blocks
    assert block["input"] == {"unreadable": written[:1000], "why": UNREADABLE[written]}
    planned = loop.plan_call(AGENT, block["id"], block["name"], block["input"])
    why = f"could not be read, so it was not run: {UNREADABLE[written]}. Send one JSON object."
    assert planned.error_text == f"The arguments of getWeather {why}"


async def test_unknown_events_and_blocks_are_ignored(claude):
    new = [
        {"type": "weather_report", "sky": "clear"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "hologram", "data": {"x": [1]}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "hologram_delta", "data": 2}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "tone_delta", "tone": "kind"}},
        {"type": "content_block_delta", "index": 77, "delta": {"type": "text_delta", "text": "of no block"}},
        {"type": "content_block_stop", "index": 77},
    ]
    start, ping, begin, *rest = answer(text("Hi"))
    claude.will(Reply(items=[start, ping, PING, begin, *new, *rest]))
    *shown, finished = await ask(claude)
    assert shown == [events.TextStarted("text-0"), events.TextDelta("text-0", "Hi"), events.TextEnded("text-0")]
    assert finished.blocks == [text("Hi"), {"type": "hologram", "data": {"x": [1]}}]


FIXED = [
    thinking("Wie schön: 🌍é", "c2ln"),
    text("Grüße 🌍"),
    tool_use("toolu_1", "getWeather", city="Kœln 🏛", n=[1, 2]),
]


def test_the_answer_does_not_depend_on_how_the_bytes_are_split(claude):
    whole = sum(len(chunk) for chunk in says(*FIXED, cuts=[1]).items)
    with asyncio.Runner() as runner:
        provider = provider_at(claude)

        async def collect():
            return [
                event
                async for event in provider.stream(ModelRequest(AGENT, HELLO))
                if not isinstance(event, events.AnswerMetered)
            ]

        claude.will(says(*FIXED, stop_reason="tool_use"))
        *shown, finished = runner.run(collect())
        # The stand-in names the model that answers only in events that it encodes itself.
        expected = [*shown, replace(finished, answered_by={"message_id": "msg_1"})]
        assert expected[-1].blocks == FIXED

        @settings(max_examples=60, deadline=None)
        @given(st.lists(st.integers(1, whole), max_size=60))
        def check(cuts):
            claude.will(says(*FIXED, stop_reason="tool_use", cuts=cuts or [1]))
            assert runner.run(collect()) == expected

        check()
        claude.will(says(*FIXED, stop_reason="tool_use", cuts=range(whole)))
        assert runner.run(collect()) == expected


async def test_a_slow_answer_is_streamed_as_it_arrives(claude):
    gate = threading.Event()
    start, *rest = block_events(0, text("First, then."), size=6)
    claude.will(Reply(items=[START, start, rest[0], gate, *rest[1:], *end(output_tokens=4)]))
    stream = provider_at(claude).stream(ModelRequest(AGENT, HELLO))
    assert [await anext(stream) for _ in range(3)] == [
        events.AnswerMetered("claude-sonnet-5-5", {"input_tokens": 10, "output_tokens": 1}, BY),
        events.TextStarted("text-0"),
        events.TextDelta("text-0", "First,"),
    ]
    gate.set()
    assert await anext(stream) == events.TextDelta("text-0", " then.")
    ended, metered, finished = [event async for event in stream]
    assert (ended, finished.blocks) == (events.TextEnded("text-0"), [text("First, then.")])
    assert metered == replace(metered, usage={"input_tokens": 10, "output_tokens": 4}, answered_by=BY)


BEGINNING = [START, *block_events(0, text("Half an ans"))]
ENDINGS = {
    "an early close": ([Close.EARLY], BROKEN_OFF),
    "a clean close": ([Close.CLEAN], BROKEN_OFF),
    "no stop reason": (end(None), BROKEN_OFF),
    "rubbish": ([b"event: message_delta\ndata: {half\n\n"], BROKEN_OFF),
    "broken utf-8": ([b"event: message_delta\ndata: \xff\n\n"], BROKEN_OFF),
    "overload": ([error("overloaded_error")], f"Claude is overloaded right now. {WAIT}"),
    "an error": ([error("api_error")], f"Claude has a problem right now. {WAIT}"),
    "an unknown error": ([error("surprise")], f"Claude has a problem right now. {WAIT}"),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_failure_after_the_first_output_is_not_retried(claude, ending):
    items, words = ENDINGS[ending]
    claude.will(Reply(items=[*BEGINNING, *items]))
    shown, said = await text_and_error(claude)
    assert "".join(event.text for event in shown if isinstance(event, events.TextDelta)) == "Half an ans"
    assert (said, len(claude.requests)) == (words, 1)


async def test_a_connection_lost_after_the_stop_reason_loses_nothing(claude):
    claude.will(Reply(items=[*BEGINNING, end(output_tokens=4)[0], Close.EARLY]))
    assert (await ask(claude))[-1].blocks == [text("Half an ans")]


def endless(delta, block):
    begin = block_events(0, block)[0]
    return Reply(items=chain([START, begin], repeat({"type": "content_block_delta", "index": 0, "delta": delta})))


ENDLESS = {
    "text": endless({"type": "text_delta", "text": "la " * 500}, text("x")),
    "thoughts": endless({"type": "thinking_delta", "thinking": "hm " * 500}, thinking("x", "y")),
    "input": endless({"type": "input_json_delta", "partial_json": "1" * 1500}, tool_use("toolu_1", "getWeather", x=1)),
}


@pytest.mark.parametrize("what", ENDLESS)
async def test_an_endless_answer_is_cut_off_and_the_connection_closed(claude, what):
    claude.will(ENDLESS[what])
    with pytest.raises(ProviderError) as failure:
        async for _ in loop.stream_step(AGENT, provider_at(claude), HELLO, 0):
            pass
    assert str(failure.value) == "The model's answer was cut off because it is longer than 400,000 characters."
    assert await asyncio.to_thread(claude.requests[0].gone.wait, 60)


async def test_an_answer_that_takes_too_long_is_cut_off(claude):
    claude.will(Reply(items=chain(BEGINNING, repeat(PING))))
    with pytest.raises(ProviderError) as failure:
        await ask(claude, longest=0.3)
    assert str(failure.value) == "Claude's answer took too long and was cut off. Ask for less at a time."
    assert await asyncio.to_thread(claude.requests[0].gone.wait, 60)
