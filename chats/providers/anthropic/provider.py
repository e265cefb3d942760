"""The provider that asks Claude, retries, and reads the streamed answer.

Observed of the SDK: a connection that closes early raises nothing and leaves no stop reason, or raises the transport's own
error; an `error` event inside a stream is an APIStatusError with status 200.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from typing import Any
from weakref import WeakKeyDictionary

import anthropic
import httpx2
from django.utils.translation import gettext as _

from chats.agent.events import Event
from chats.agent.provider import ModelRequest, ProviderError
from chats.providers.anthropic.errors import (
    StreamBroken,
    error_for_people,
    is_temporary,
    seconds_to_wait,
    unsupported_feature,
)
from chats.providers.anthropic.request import NAME, request_arguments
from chats.providers.anthropic.stream import StreamedAnswer

ATTEMPTS = 4
#: Seconds. Where the API asks for a longer wait than this, the provider gives up.
LONGEST_WAIT = 30.0
#: Seconds: how long a stream may be silent, and how long one answer may take in all.
SILENCE, LONGEST_ANSWER = 120.0, 1800.0


class AnthropicProvider:
    """Asks `model`, unless the agent names its own. Raises ProviderError at once if there is no key.

    An empty `base_url` means ANTHROPIC_BASE_URL, or else Anthropic's own; `longest` limits one answer, in seconds.
    """

    name = NAME

    def __init__(self, *, api_key: str, model: str, base_url: str = "", longest: float = LONGEST_ANSWER) -> None:
        if not api_key:
            raise ProviderError(
                _("No API key for Claude is configured. Set ANTHROPIC_API_KEY, or HITL_PROVIDER=scripted.")
            )
        if not api_key.isascii():
            raise ProviderError(_("ANTHROPIC_API_KEY contains invalid characters. Copy it again."))
        self.model = model
        self._api_key, self._base_url, self._longest = api_key, base_url or None, longest
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[anthropic.AsyncAnthropic, Any]]
        self._clients = WeakKeyDictionary()
        #: The features that each model was found not to support, so that later requests leave them out.
        self._unsupported: defaultdict[str, set[str]] = defaultdict(set)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """See `Provider.stream`. Retry what fails before the first output, up to ATTEMPTS requests in all."""
        client, model = await self._client(), request.agent.model or self.model
        deadline = asyncio.get_running_loop().time() + self._longest
        attempts, without = 0, set(self._unsupported[model])
        while True:
            arguments = request_arguments(request, model, without)
            answer = StreamedAnswer(model)
            failure: Exception = StreamBroken()
            try:
                async with await client.messages.create(**arguments, stream=True) as events:
                    while (raw := await _next_event(events, deadline)) is not None:
                        for event in answer.take(raw):
                            yield event
            except (anthropic.APIError, httpx2.RequestError, StreamBroken) as error:
                failure = error
            if answer.complete:
                yield answer.finished()
                return
            if not answer.begun and (feature := unsupported_feature(failure, arguments)):
                without.add(feature)
                # Earlier thoughts may be refused for what this one conversation holds.
                self._unsupported[model] |= {feature} - {"thoughts"}
                continue
            attempts += 1
            wait = seconds_to_wait(failure, attempts)
            if answer.begun or attempts == ATTEMPTS or wait > LONGEST_WAIT or not is_temporary(failure):
                raise ProviderError(error_for_people(failure, model)) from failure
            await asyncio.sleep(wait)

    async def _client(self) -> anthropic.AsyncAnthropic:
        """Return the client of the running event loop, to which its connections belong."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            keeper = self._keep_client()
            self._clients[loop] = await anext(keeper), keeper
        return self._clients[loop][0]

    async def _keep_client(self) -> AsyncGenerator[anthropic.AsyncAnthropic, None]:
        """Keep a client open until its loop ends: a loop that ends closes its generators, and with this one the client."""
        timeout = anthropic.Timeout(SILENCE, connect=10.0)
        async with anthropic.AsyncAnthropic(
            api_key=self._api_key, base_url=self._base_url, max_retries=0, timeout=timeout
        ) as client:
            yield client


async def _next_event(events: anthropic.AsyncStream[Any], deadline: float) -> dict[str, Any] | None:
    """Return the stream's next raw event, or None at its end. ProviderError after `deadline`, StreamBroken."""
    try:
        async with asyncio.timeout_at(deadline):
            raw: dict[str, Any] = (await anext(events)).to_dict(warnings=False)
            return raw
    except StopAsyncIteration:
        return None
    except TimeoutError:
        raise ProviderError(_("Claude's answer took too long and was cut off. Ask for less at a time.")) from None
    except ValueError as error:
        raise StreamBroken from error
