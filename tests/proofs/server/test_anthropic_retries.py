"""Calls to Claude are retried after growing waits, or after the wait in `Retry-After`."""

from __future__ import annotations

import asyncio
import socket
from itertools import pairwise

from chats.providers import retries
from chats.providers.anthropic import AnthropicProvider
from tests.chats.providers.test_anthropic_provider import NEW, WAIT, ask, claude, refusal
from tests.support.anthropic_server import KEY, refuses, says, text

__all__ = ["claude"]


async def test_four_tries_are_made_with_growing_waits_between_them(claude, monkeypatch):
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.5)
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
