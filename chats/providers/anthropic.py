"""Claude, through the Anthropic SDK. Only this module imports the SDK, and only where it is the provider (it is slow to load).

Facts about the stream are from Anthropic's Messages API reference, and from what the SDK was seen to do: a connection that
closes early raises nothing and leaves no stop reason, or raises the transport's own error; an `error` event in mid-stream is
an APIStatusError with status 200.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection
from email.utils import parsedate_to_datetime
from typing import Any
from weakref import WeakKeyDictionary

import anthropic
import httpx2
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chats.agent.agent import ADAPTIVE, Agent
from chats.agent.events import Event
from chats.agent.provider import ModelMessage, ModelRequest, ProviderError
from chats.providers.anthropic_stream import Answer

TRIES = 4
#: Seconds: the first wait between two tries (doubled each time), and the longest; who is asked to wait longer gives up.
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
#: Seconds: how long a stream may be silent, and how long one answer may take in all.
SILENCE, LONGEST_ANSWER = 120.0, 1800.0

THOUGHTS = frozenset({"thinking", "redacted_thinking"})
#: What everybody's messages may hold. Of its own, the model also gets back its thoughts and what the API's own tools did;
#: blocks of other types stay in the step as they came, but are not sent: the API refuses types that it does not know.
SHOWN = frozenset({"text", "tool_use", "tool_result", "image", "document"})
NOTHING = {"type": "text", "text": "(nothing said)"}
NO_TOOLS = {"name": "none", "description": "There are no tools any more.", "input_schema": {"type": "object"}}

#: What an `error` event in mid-stream says in place of a status.
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class BrokenOff(Exception):
    """The stream ended, or could not be read on, before the API said why it ended."""


class AnthropicProvider:
    """Asks `model`, unless the agent names its own. Raises ProviderError at once where there is no key.

    `base_url` is empty for ANTHROPIC_BASE_URL, else Anthropic's own; `longest` bounds one answer, in seconds.
    """

    name = "anthropic"

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
        #: What a model was found not to take, so that it is not offered again in every request.
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """See `Provider.stream`. What fails before the first output is tried again, TRIES times in all."""
        client, model = await self._client(), request.agent.model or self.model
        deadline = asyncio.get_running_loop().time() + self._longest
        tries, without = 0, set(self._refused[model])
        while True:
            arguments = request_arguments(request, model, without)
            answer = Answer(model)
            failure: Exception = BrokenOff()
            try:
                async with await client.messages.create(**arguments, stream=True) as events:
                    while (raw := await _next(events, deadline)) is not None:
                        for event in answer.take(raw):
                            yield event
            except (anthropic.APIError, httpx2.RequestError, BrokenOff) as error:
                failure = error
            if answer.complete:
                yield answer.finished()
                return
            if not answer.begun and (refused := _refused(failure, arguments)):
                without.add(refused)
                self._refused[model] |= {refused} - {"thoughts"}
                continue
            tries += 1
            wait = _wait(failure, tries)
            if answer.begun or tries == TRIES or wait > LONGEST_WAIT or not _is_passing(failure):
                raise ProviderError(_words(failure, model)) from failure
            await asyncio.sleep(wait)

    async def _client(self) -> anthropic.AsyncAnthropic:
        """One client per event loop, whose connections belong to it."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            keeper = self._keep_client()
            self._clients[loop] = await anext(keeper), keeper
        return self._clients[loop][0]

    async def _keep_client(self) -> AsyncGenerator[anthropic.AsyncAnthropic, None]:
        """Holds a client open as long as its loop runs: a loop that ends closes its generators, and this one its client."""
        timeout = anthropic.Timeout(SILENCE, connect=10.0)
        async with anthropic.AsyncAnthropic(
            api_key=self._api_key, base_url=self._base_url, max_retries=0, timeout=timeout
        ) as client:
            yield client


async def _next(events: anthropic.AsyncStream[Any], deadline: float) -> dict[str, Any] | None:
    """The stream's next event as it came; None at its end."""
    try:
        async with asyncio.timeout_at(deadline):
            raw: dict[str, Any] = (await anext(events)).to_dict(warnings=False)
            return raw
    except StopAsyncIteration:
        return None
    except TimeoutError:
        raise ProviderError(_("Claude's answer took too long and was cut off. Ask for less at a time.")) from None
    except ValueError as error:
        raise BrokenOff from error


def request_arguments(request: ModelRequest, model: str, without: Collection[str] = ()) -> dict[str, Any]:
    """The arguments of `messages.create`; system prompt and tools are marked for prompt caching.

    `without` names what this model was found to refuse: "temperature", "enabled" and "adaptive" thinking, and "thoughts",
    which are the thinking blocks of earlier answers.
    """
    agent = request.agent
    messages = [_message(message, model, thoughts="thoughts" not in without) for message in request.messages]
    last = messages[-1]["content"][-1]
    if messages[-1]["role"] == "assistant" and last["type"] == "text":
        # After `pause_turn` the answer is continued, and the API takes no white space at the end of what it continues.
        messages[-1]["content"][-1] = last | {"text": last["text"].rstrip()}
    arguments: dict[str, Any] = {"model": model, "messages": messages, "max_tokens": agent.max_tokens}
    if agent.system.strip():
        arguments["system"] = [{"type": "text", "text": agent.system, "cache_control": {"type": "ephemeral"}}]
    if agent.tools:
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in agent.tools
        ]
        tools[-1]["cache_control"] = {"type": "ephemeral"}
        arguments["tools"] = tools
    elif any(block["type"] == "tool_use" for message in messages for block in message["content"]):
        # The API refuses calls in the history of a request that has no tools.
        arguments |= {"tools": [NO_TOOLS], "tool_choice": {"type": "none"}}
    return arguments | _sampling(agent, messages, without)


def _sampling(agent: Agent, messages: list[dict[str, Any]], without: Collection[str]) -> dict[str, Any]:
    """Thinking, or else the temperature: the API takes only one of them."""
    if not agent.thinking:
        # No argument of the SDK any more, but older models still take it.
        named = {"extra_body": {"temperature": agent.temperature}}
        return {} if agent.temperature is None or "temperature" in without else named
    if agent.thinking == ADAPTIVE or "enabled" in without:
        return {} if ADAPTIVE in without else {"thinking": {"type": ADAPTIVE}}
    if not _turn_began_with_a_thought(messages):
        return {}
    budget = int(agent.thinking)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}, "max_tokens": agent.max_tokens + budget}


def _turn_began_with_a_thought(messages: list[dict[str, Any]]) -> bool:
    """Whether a budget may be given: a turn that another model began without thinking has to be ended without."""
    first = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message
        elif any(block["type"] != "tool_result" for block in message["content"]):
            break
    return first is None or first["content"][0]["type"] in THOUGHTS


def _message(message: ModelMessage, model: str, *, thoughts: bool) -> dict[str, Any]:
    """A message as this model may see it: thinking is signed for the model that thought, and means nothing to others."""
    own = message.provider == AnthropicProvider.name and message.model == model
    content = [block for block in message.content if _may_be_sent(block, own=own, thoughts=thoughts)]
    if not content or content[-1]["type"] in THOUGHTS:
        # The API takes neither an empty message nor one that ends in a thought.
        content.append(NOTHING)
    return {"role": message.role, "content": content}


def _may_be_sent(block: dict[str, Any], *, own: bool, thoughts: bool) -> bool:
    kind = str(block.get("type"))
    if kind in THOUGHTS:
        # A thought that was cut off before it was signed would be refused.
        return own and thoughts and bool(block.get("signature") or block.get("data"))
    return kind in SHOWN or (own and (kind == "server_tool_use" or kind.endswith("_tool_result")))


def _status(error: Exception) -> int:
    """The HTTP status, also of an error inside a stream that began with status 200; 0 if there was no answer."""
    if not isinstance(error, anthropic.APIStatusError):
        return 0
    return STATUSES.get(error.type or "", error.status_code)


def _says(error: Exception) -> str:
    """The API's own words."""
    said = error.api_message if isinstance(error, anthropic.APIStatusError) else None
    return said if isinstance(said, str) else str(error)


def _refused(error: Exception, arguments: dict[str, Any]) -> str:
    """What of the request this model does not take and can do without; empty if it is something else.

    Models differ in this, and a thought is refused too where what came before it has changed, or the account.
    """
    said = _says(error).lower()
    if _status(error) != 400:
        return ""
    if "extra_body" in arguments and "temperature" in said:
        return "temperature"
    if "thinking" in arguments and "thinking" in said and not said.startswith("messages"):
        return str(arguments["thinking"]["type"])
    has_thoughts = any(block["type"] in THOUGHTS for message in arguments["messages"] for block in message["content"])
    about_thoughts = any(word in said for word in ("thinking", "signature", "block is bound"))
    return "thoughts" if has_thoughts and about_thoughts else ""


def _is_passing(error: Exception) -> bool:
    """Whether the same request may well be answered a moment later."""
    status = _status(error)
    return not status or status in {408, 409, 429} or status >= 500


def _wait(error: Exception, tries: int) -> float:
    """Seconds until the next try: what the API asks for, else twice as long each time, a little scattered."""
    asked = _asked_to_wait(error)
    if asked is not None:
        return asked
    doubled: float = FIRST_WAIT * 2 ** (tries - 1)
    return doubled * random.uniform(0.8, 1.2)  # noqa: S311 - scatters tries, hides nothing


def _asked_to_wait(error: Exception) -> float | None:
    value = error.response.headers.get("retry-after", "") if isinstance(error, anthropic.APIStatusError) else ""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _words(error: Exception, model: str) -> str:
    """What a person can do about it."""
    status, said = _status(error), _says(error)
    minutes = math.ceil((_asked_to_wait(error) or 0) / 60)
    words = ngettext("Wait %(n)d minute", "Wait %(n)d minutes", minutes) if minutes > 1 else _("Wait a minute")
    later = _("%(wait)s, then send your message again.") % {"wait": words % {"n": minutes}}
    if isinstance(error, anthropic.APIConnectionError):
        return _("Claude cannot be reached. Check the server's network, then send your message again.")
    if not status:
        return _("The model's answer ended before it was complete. Send your message again.")
    if status == 401:
        return _("Claude rejected the API key. Check ANTHROPIC_API_KEY.")
    if status == 402 or "credit balance" in said:
        return _("The account of ANTHROPIC_API_KEY has no credit left. Add credit, then send your message again.")
    if status == 403:
        words = _("The API key does not have access to the model %(model)s. Check ANTHROPIC_API_KEY and HITL_MODEL.")
        return words % {"model": model}
    if status == 404:
        return _("No model is named %(model)s. Check HITL_MODEL, or the agent's model.") % {"model": model}
    if status == 413 or "too long" in said or "context limit" in said:
        return _("This chat is too long for the model. Start a new chat.")
    if status == 429:
        return _("Claude's rate limit is reached. %(later)s") % {"later": later}
    if status == 529:
        return _("Claude is overloaded right now. %(later)s") % {"later": later}
    if 400 <= status < 500:
        return _("Claude did not accept the request: %(said)s") % {"said": said[:300]}
    return _("Claude has a problem right now. %(later)s") % {"later": later}
