"""A chat with Claude in tests: the real provider, which asks the stand-in of the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chats import providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from tests.support.anthropic_server import KEY, AnthropicServer, Reply, answer

MODEL = "claude-sonnet-4-6"
PATH = f"{__name__}.helper"
helper = Agent(name="support", system="Be careful.", tools=[getWeather, issueRefund], max_tokens=500)


@contextmanager
def answering(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[AnthropicServer]:
    """Have `helper` ask a stand-in of the API, which is yielded."""
    settings.HITL_AGENTS = [PATH]
    settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY, settings.HITL_MODEL = "anthropic", KEY, MODEL
    with AnthropicServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        _forget()
        yield server
        _forget()


def _forget() -> None:
    providers._make.cache_clear()
    registry.load.cache_clear()


def ends(*blocks: dict[str, Any], stop_reason: str, **details: Any) -> Reply:
    """Return a whole answer that ends for this reason, with the API's details."""
    events = answer(*blocks, stop_reason=stop_reason)
    if details:
        events[-2]["delta"]["stop_details"] = {"type": stop_reason, **details}
    return Reply(items=events, blocks=blocks)


def sent(server: AnthropicServer, number: int = -1) -> list[Any]:
    """Return the contents of the messages in a request, without the cache marks."""
    return [
        [{name: value for name, value in block.items() if name != "cache_control"} for block in message["content"]]
        for message in server.requests[number].body["messages"]
    ]
