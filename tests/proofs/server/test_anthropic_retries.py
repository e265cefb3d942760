"""What Claude is asked, how often, and what people are told when it does not answer."""

from __future__ import annotations

import asyncio
import socket
from itertools import pairwise

import pytest

from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.providers.anthropic import AnthropicProvider
from chats.providers.base import ModelMessage, ModelRequest, ProviderError
from tests.support.anthropic_server import (
    KEY,
    AnthropicServer,
    refuses,
    says,
    text,
)

NEW, MIDDLE, OLD = "claude-sonnet-5-5", "claude-sonnet-4-6", "claude-haiku-4-5"
HELLO = [ModelMessage("user", [text("Hello")])]
WAIT = "Wait a minute, then send your message again."


@pytest.fixture
def claude():
    with AnthropicServer() as server:
        yield server


def agent(**given):
    return Agent(name="clerk", **{"tools": [getWeather, issueRefund], **given})


async def ask(claude, messages=HELLO, *, model=NEW, key=KEY, provider=None, agent_model="", **given):
    """The blocks of Claude's answer."""
    provider = provider or AnthropicProvider(api_key=key, model=model, base_url=claude.url)
    shown = [event async for event in provider.stream(ModelRequest(agent(model=agent_model, **given), messages))]
    return shown[-1].blocks


async def refusal(claude, **given):
    """The words of the failure, and how often Claude was asked."""
    with pytest.raises(ProviderError) as failure:
        await ask(claude, **given)
    return str(failure.value), len(claude.requests)


async def test_four_tries_are_made_with_growing_waits_between_them(claude):
    claude.will(*[refuses(529, "overloaded_error")] * 4)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        unreachable = AnthropicProvider(api_key=KEY, model=NEW, base_url=nowhere)
        failures = await asyncio.gather(refusal(claude), refusal(claude, provider=unreachable))
    assert [words for words, _ in failures] == [
        f"Claude is overloaded right now. {WAIT}",
        "Claude cannot be reached. Check the server's network, then send your message again.",
    ]
    waits = [after.at - before.at for before, after in pairwise(claude.requests)]
    assert [wait >= 0.8 * least for wait, least in zip(waits, (0.5, 1, 2), strict=True)] == [True] * 3


async def test_retry_after_is_honoured(claude):
    claude.will(refuses(429, "rate_limit_error", retry_after="0.9"), says(text("Hi")))
    await ask(claude)
    assert claude.requests[1].at - claude.requests[0].at >= 0.9
