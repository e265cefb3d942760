"""An upstream that says nothing: people are told after seconds, and the wait has an end."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from chats.agent.events import AnswerMetered, ModelFinished, ModelSilent, TextDelta, TextStarted
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.providers.anthropic import AnthropicProvider, patience
from tests.chats.providers.test_anthropic_provider import HELLO, NEW, agent, claude
from tests.support.anthropic_server import KEY, PING, Reply, answer, refuses, says, text

__all__ = ["claude"]

START = answer()[0]
NEVER = threading.Event()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(patience, "NOTICE", 0.05)


def provider(claude, seconds=60.0):
    return AnthropicProvider(api_key=KEY, model=NEW, base_url=claude.url, patience=seconds)


async def events_of(claude, seconds=60.0, messages: list[ModelMessage] = HELLO):
    return [event async for event in provider(claude, seconds).stream(ModelRequest(agent(), messages))]


def is_silence(event):
    return isinstance(event, ModelSilent)


async def test_silence_before_the_first_words_is_told_and_then_the_answer_comes(claude):
    gate = threading.Event()
    claude.will(Reply(items=[START, PING, gate, *answer(text("Hi"))[2:]]))
    seen = []
    async for event in provider(claude).stream(ModelRequest(agent(), HELLO)):
        if not isinstance(event, AnswerMetered):
            seen.append(event)
            gate.set()
    assert replace(seen[0], seconds=0) == ModelSilent(attempt=1, attempts=4, seconds=0)
    assert [type(event) for event in seen if not is_silence(event)][-1] == ModelFinished
    assert TextDelta("text-0", "Hi") in seen


async def test_each_retry_is_told(claude):
    claude.will(refuses(529, "overloaded_error", retry_after="0"), refuses(500, "api_error", retry_after="0"))
    claude.will(says(text("Hi")))
    told = [event.attempt for event in await events_of(claude) if is_silence(event)]
    assert [attempt for attempt in told if attempt > 1] == sorted(attempt for attempt in told if attempt > 1)
    assert {2, 3} <= set(told) <= {1, 2, 3}


async def test_a_try_that_says_nothing_is_given_up_and_tried_again(claude):
    claude.will(Reply(items=[NEVER]), says(text("Hi")))
    # The first of four tries may be silent for a tenth of all the time.
    *_, finished = await events_of(claude, 10)
    assert (finished.blocks, len(claude.requests)) == ([text("Hi")], 2)
    assert claude.requests[0].gone.wait(60)


SILENT = {"nothing at all": [NEVER], "only the beginning": [START, NEVER], "no end of pings": [START, PING, NEVER]}


@pytest.mark.parametrize("what", SILENT)
async def test_all_tries_together_end_when_patience_does(claude, what):
    claude.will(*[Reply(items=SILENT[what])] * 4)
    with pytest.raises(ProviderError) as failure:
        await events_of(claude, 0.4)
    claude.replies.clear()
    assert str(failure.value) == "Claude did not begin to answer in time. Send your message again."


async def test_a_wait_that_is_longer_than_patience_is_not_begun(claude):
    claude.will(refuses(529, "overloaded_error", retry_after="20"))
    with pytest.raises(ProviderError) as failure:
        await events_of(claude, 10)
    assert "overloaded" in str(failure.value)


async def test_silence_after_the_first_words_is_not_told(claude):
    gate = threading.Event()
    _, _, begin, delta, *rest = answer(text("Hi"))
    claude.will(Reply(items=[START, begin, delta, gate, *rest]))
    seen = []
    async for event in provider(claude).stream(ModelRequest(agent(), HELLO)):
        seen.append(event)
        if isinstance(event, TextDelta):
            threading.Timer(0.3, gate.set).start()
    begun = seen.index(TextStarted("text-0"))
    assert [event for event in seen[begun:] if is_silence(event)] == []
    assert seen[-1].blocks == [text("Hi")]


async def test_a_stop_that_comes_while_a_request_is_closed_is_not_lost():
    """Otherwise the next try would be sent, and paid for."""
    closing, closed = asyncio.Event(), asyncio.Event()

    async def ask():
        try:
            await asyncio.Event().wait()
        finally:
            closing.set()
            await closed.wait()

    caller = asyncio.create_task(patience.PendingResponse(ask).close())
    await closing.wait()
    caller.cancel()
    await asyncio.wait({caller})
    closed.set()
    assert caller.cancelled()
