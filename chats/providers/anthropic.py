"""Claude, through the Anthropic SDK. Only this module imports the SDK, and only where it is the provider (it is slow to load).

Facts about the stream are from Anthropic's Messages API reference, and from what the SDK was seen to do: a connection that
closes early raises nothing and leaves no stop reason; an `error` event in mid-stream is an APIStatusError with status 200.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any
from weakref import WeakKeyDictionary

import anthropic

from chats.agent.agent import ADAPTIVE, Agent
from chats.agent.events import Event
from chats.providers.anthropic_stream import Answer
from chats.providers.base import ModelMessage, ModelRequest, ProviderError

TRIES = 4
#: Seconds: the first wait between two tries (doubled each time), the longest, and how long a silent stream may last.
FIRST_WAIT, LONGEST_WAIT, SILENCE = 0.5, 30.0, 120.0

BUSY = {"overloaded_error", "rate_limit_error", "api_error", "timeout_error"}
BROKEN_OFF = "The model's answer broke off before it was complete. Send your message again."


class AnthropicProvider:
    """Asks `model`, unless the agent names its own. Raises ProviderError at once where there is no key."""

    name = "anthropic"

    def __init__(self, *, api_key: str, model: str) -> None:
        if not api_key:
            raise ProviderError("There is no key for Claude. Set ANTHROPIC_API_KEY, or HITL_PROVIDER=scripted.")
        self.model = model
        self._api_key = api_key
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, anthropic.AsyncAnthropic] = WeakKeyDictionary()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event]:
        """See `Provider.stream`. What fails before the first output is tried again, TRIES times in all."""
        arguments = request_arguments(request, self.model)
        for attempt in range(TRIES):
            answer = Answer()
            try:
                async with await self._client().messages.create(**arguments, stream=True) as events:
                    async for raw in events:
                        for event in answer.take(raw.to_dict()):
                            yield event
            except anthropic.APIError as error:
                if answer.begun or attempt == TRIES - 1 or not _is_passing(error):
                    raise ProviderError(_words(error, arguments["model"])) from error
                await asyncio.sleep(_wait(error, attempt))
                continue
            if answer.complete:
                yield answer.finished()
                return
            if answer.begun or attempt == TRIES - 1:
                raise ProviderError(BROKEN_OFF)
            await asyncio.sleep(_wait(None, attempt))

    def _client(self) -> anthropic.AsyncAnthropic:
        """One client per event loop, whose connections belong to it."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            timeout = anthropic.Timeout(SILENCE, connect=10.0)
            self._clients[loop] = anthropic.AsyncAnthropic(api_key=self._api_key, max_retries=0, timeout=timeout)
        return self._clients[loop]


def request_arguments(request: ModelRequest, default_model: str) -> dict[str, Any]:
    """The arguments of `messages.create`; system prompt and tools are marked for prompt caching."""
    agent = request.agent
    model = agent.model or default_model
    messages = [_message(message, model) for message in request.messages]
    arguments: dict[str, Any] = {"model": model, "messages": messages, "max_tokens": agent.max_tokens}
    if agent.system:
        arguments["system"] = [{"type": "text", "text": agent.system, "cache_control": {"type": "ephemeral"}}]
    if agent.tools:
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in agent.tools
        ]
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        arguments["tools"] = tools
    return arguments | _sampling(agent, messages)


def _sampling(agent: Agent, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Thinking, or else the temperature: the API takes only one of them."""
    if agent.thinking and _may_think(messages):
        if agent.thinking == ADAPTIVE:
            return {"thinking": {"type": "adaptive"}}
        budget = agent.thinking
        return {"thinking": {"type": "enabled", "budget_tokens": budget}, "max_tokens": agent.max_tokens + int(budget)}
    return {} if agent.temperature is None or agent.thinking else {"temperature": agent.temperature}


def _may_think(messages: list[dict[str, Any]]) -> bool:
    """Not in the middle of a step that was begun without thinking (by another model): the API refuses that."""
    if len(messages) < 2 or not any(block["type"] == "tool_result" for block in messages[-1]["content"]):
        return True
    return any(block["type"] in {"thinking", "redacted_thinking"} for block in messages[-2]["content"])


def _message(message: ModelMessage, model: str) -> dict[str, Any]:
    """A message as this model may see it: thinking is signed for the model that thought, and means nothing to others."""
    own = message.provider == AnthropicProvider.name and message.model == model
    content = [
        block
        for block in message.content
        if own or block["type"] in {"text", "tool_use", "tool_result", "image", "document"}
    ]
    return {"role": message.role, "content": content or [{"type": "text", "text": "(nothing)"}]}


def _kind(error: anthropic.APIError) -> str:
    """The error type that the API names in its body, also inside a stream that began with status 200."""
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    return str(inner.get("type", "")) if isinstance(inner, dict) else ""


def _is_passing(error: anthropic.APIError) -> bool:
    status = getattr(error, "status_code", 0)
    return (
        isinstance(error, anthropic.APIConnectionError)
        or status in {408, 409, 429}
        or status >= 500
        or _kind(error) in BUSY
    )


def _wait(error: anthropic.APIError | None, attempt: int) -> float:
    """Seconds until the next try: what the API asks for, else twice as long each time, a little scattered."""
    headers = error.response.headers if isinstance(error, anthropic.APIStatusError) else {}
    try:
        asked = float(headers.get("retry-after", ""))
    except ValueError:
        asked = FIRST_WAIT * 2**attempt * random.uniform(0.8, 1.2)  # noqa: S311 - scatters tries, hides nothing
    return min(max(asked, 0.0), LONGEST_WAIT)


def _words(error: anthropic.APIError, model: str) -> str:
    """What a person can do about it."""
    kind, status = _kind(error), getattr(error, "status_code", 0)
    if isinstance(error, anthropic.APIConnectionError):
        return "Claude cannot be reached. Check the server's network, then send your message again."
    if status == 401:
        return "Claude refused the key. Check ANTHROPIC_API_KEY."
    if status == 403:
        return f"The key may not use the model {model}. Check ANTHROPIC_API_KEY and HITL_MODEL."
    if status == 404:
        return f"There is no model named {model}. Check HITL_MODEL, or the agent's model."
    if status == 413 or "too long" in error.message:
        return "This chat has become too long for the model. Start a new one."
    if status == 429 or kind == "rate_limit_error":
        return "Claude limits how often it may be asked, and the limit is reached. Wait a minute, then send your message again."
    if status == 529 or kind == "overloaded_error":
        return "Claude is overloaded right now. Wait a minute, then send your message again."
    if 400 <= status < 500:
        return f"Claude did not accept the request: {error.message[:300]}"
    return "Claude has a problem of its own right now. Wait a minute, then send your message again."
