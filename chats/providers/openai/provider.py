"""Ask a server with either API: retries, and reading the streamed answer.

The SDK is used for connections, keys and errors. Its types are not, because other servers deviate from them.
"""

from __future__ import annotations

import asyncio
import logging
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import openai
from django.utils.translation import gettext as _

from approvals.json_types import JsonDict
from chats.agent.agent import Agent
from chats.agent.events import AnswerMetered, Event, ModelFinished, ModelSilent
from chats.agent.provider import ModelRequest, ProviderError
from chats.providers import retries
from chats.providers.building import build
from chats.providers.clients import Clients, trusted
from chats.providers.files import details_of_files, refuses_files, with_fewer_files
from chats.providers.openai import servers
from chats.providers.openai.answer import (
    THOUGHTS,
    THOUGHTS_REFUSED,
    Failed,
    Malformed,
    ModelResponse,
    Payload,
)
from chats.providers.openai.conversation import used_ids
from chats.providers.openai.errors import (
    REQUEST_ID,
    StreamBroken,
    error_for_people,
    is_temporary,
    refuses_thoughts,
    request_id_of,
    retry_after,
    said_by,
    status_of,
    unsupported_argument,
    unsupported_member,
)
from chats.providers.openai.settings import sent_names
from chats.providers.scrubbing import scrub, scrub_ids
from chats.providers.sent_requests import SentRequest

logger = logging.getLogger(__name__)

OPENAI = "https://api.openai.com/v1"
ATTEMPTS = 4
#: Seconds. If the server asks for a longer wait than this, the provider gives up.
LONGEST_WAIT = 30.0
#: Seconds: how long a stream may be silent, and how long one answer may take in all.
SILENCE = 120.0
LONGEST_ANSWER = 1800.0
#: Seconds: the limit of all tries before the first output, and the silence after which readers are notified.
PATIENCE = 120.0
TOLD_AFTER = 5.0
#: Seconds to wait for the usage after the end of an answer.
USAGE_WAIT = 5.0
#: Sent if no key is set, because the SDK requires one. Servers on one's own machine ignore it.
NO_KEY = "none"


class ServerProvider(ABC):
    """Asks `model` at `base_url`, unless the agent names its own model. Raises ProviderError at once if a setting is missing.

    The subclasses are the APIs: `path` is the path of requests, and `optional` are the arguments that a model may refuse.
    """

    name: str
    path: str
    optional: Sequence[str]
    #: Yields settings of an agent that the API would refuse.
    problems_of: ClassVar[Callable[..., Iterator[str]]]
    #: Makes an answer that has not begun; see `StreamedAnswer` of each API.
    answer: ClassVar[Callable[..., ModelResponse]]

    def __init__(
        self,
        *,
        api_key: str,
        model: str,
        base_url: str = OPENAI,
        longest: float = LONGEST_ANSWER,
        told_after: float = TOLD_AFTER,
        patience: float = PATIENCE,
    ) -> None:
        host = urlsplit(base_url).hostname or ""
        theirs = host.endswith((".openai.com", ".azure.com"))
        if not api_key and theirs:
            raise ProviderError(
                _(
                    "No API key for OpenAI is configured. Set OPENAI_API_KEY, or OPENAI_BASE_URL."
                )
            )
        if not api_key.isascii():
            raise ProviderError(
                _("OPENAI_API_KEY contains invalid characters. Copy it again.")
            )
        if not model:
            raise ProviderError(
                _(
                    "No model is configured. Set HITL_MODEL to a model of the server at OPENAI_BASE_URL."
                )
            )
        self.model = model
        self._api_key = api_key
        self._base_url = base_url
        self._longest = longest
        self._told_after = told_after
        self._patience = patience
        self._theirs = theirs
        self._server = servers.name_of(base_url)
        self._clients = Clients(self._connect)
        #: The arguments that each model was found not to support, so that later requests leave them out.
        self._unsupported: defaultdict[str, set[str]] = defaultdict(set)

    def problems(self, agent: Agent) -> list[str]:
        """Return settings of an agent that the server would refuse, for `manage.py check`."""
        return list(self.problems_of(agent))

    @abstractmethod
    def _payload(
        self, request: ModelRequest, model: str, without: Collection[str]
    ) -> Payload:
        """Return the body of a request without arguments that this model was found to refuse."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """See `Provider.stream`. Retry failures before the first output, up to ATTEMPTS requests in all."""
        client = await self._clients.of_loop()
        model = request.agent.model or self.model
        messages = servers.for_server(request.messages, self.name, self._server)
        request = replace(request, messages=messages)
        clock = asyncio.get_running_loop().time
        begin = clock()
        attempt = 1
        names = sent_names(request.agent)
        used = {*used_ids(request.messages), *await request.used_ids()}
        unsupported = frozenset(self._unsupported[model])
        sending = SentRequest(request, request, unsupported)
        while True:
            make = partial(self._payload, sending.sent, model, sending.without)
            payload = await build(sending.sent, make)
            answer = self.answer(model, names, used)
            failure: Exception = StreamBroken()
            arriving = self._events(client, payload.arguments, answer, begin)
            try:
                async with aclosing(arriving) as events:
                    async for event in events:
                        if event is None:
                            seconds = round(clock() - begin)
                            yield ModelSilent(attempt, ATTEMPTS, seconds)
                        else:
                            yield self._safe(event)
            except (openai.APIError, httpx2.RequestError, StreamBroken) as error:
                failure = error
            if answer.complete:
                yield self._finished(answer, payload, sending)
                return
            if not answer.begun and (
                reduced := self._reduced(sending, payload, failure, model)
            ):
                sending = reduced
                continue
            problem = self._logged(failure)
            logger.warning(
                "Try %d of %d to ask %s failed: %s", attempt, ATTEMPTS, model, problem
            )
            wait = retries.seconds_to_wait(retry_after(failure), attempt)
            too_late = clock() + wait > begin + self._patience
            last = answer.begun or attempt == ATTEMPTS or too_late
            if last or wait > LONGEST_WAIT or not is_temporary(failure):
                # Raised outside of any `except`, so that no log shows the server's error as the cause.
                raise self._error(failure, model, answer)
            attempt += 1
            yield ModelSilent(attempt, ATTEMPTS, round(clock() - begin))
            await asyncio.sleep(wait)

    def _reduced(
        self, request: SentRequest, payload: Payload, failure: Exception, model: str
    ) -> SentRequest | None:
        """Return a request without what the model has refused of it; None for any other failure."""
        problem = self._logged(failure)
        refused = self._refused(failure, payload, request.without)
        if refused:
            # Earlier thoughts may be refused because of this one conversation.
            self._unsupported[model] |= {refused} - {THOUGHTS}
            logger.warning("%s does not take %s: %s", model, refused, problem)
            return replace(request, without=request.without | {refused})
        if refuses_files(request.sent, status_of(failure), said_by(failure)):
            # Only here: the next chat may have files that the model can read.
            logger.warning("%s does not take the files of a chat: %s", model, problem)
            sent = with_fewer_files(request.sent, request.whole)
            return replace(request, sent=sent)
        return None

    def _error(
        self, failure: Exception, model: str, answer: ModelResponse
    ) -> ProviderError:
        """Return the error of a failed request, for people."""
        problem = error_for_people(failure, model, self._secrets, begun=answer.working)
        request_id = self._answered_by(answer.identity).get("request_id")
        return ProviderError(
            retries.with_request_id(
                problem, request_id or request_id_of(failure, self._secrets)
            )
        )

    async def _events(
        self,
        client: openai.AsyncOpenAI,
        arguments: JsonDict,
        answer: ModelResponse,
        begin: float,
    ) -> AsyncGenerator[Event | None, None]:
        """Yield one request's events for display, and None after some seconds of silence."""
        clock = asyncio.get_running_loop().time
        raws = self._read(client, arguments, answer)
        pending = asyncio.ensure_future(anext(raws, _END))
        usage_until = math.inf
        silence = self._told_after
        try:
            while True:
                limit = min(
                    usage_until,
                    begin + (self._longest if answer.working else self._patience),
                )
                wait_until = limit if answer.begun else min(limit, clock() + silence)
                arrived, _waiting = await asyncio.wait(
                    {pending}, timeout=wait_until - clock()
                )
                # A server that keeps sending is not silent, but its answer has to end as well.
                if clock() >= limit or (wait_until == limit and not arrived):
                    raise _timeout(answer)
                if not arrived:
                    yield None
                    # Each later notice comes after twice the time, because the stream is stored.
                    silence *= 2
                    continue
                raw = pending.result()
                if raw is _END:
                    return
                for event in _taken(answer, raw):
                    yield event
                if answer.complete:
                    usage_until = min(usage_until, clock() + USAGE_WAIT)
                pending = asyncio.ensure_future(anext(raws, _END))
        finally:
            pending.cancel()
            await asyncio.wait({pending})
            await raws.aclose()

    def _logged(self, failure: Exception) -> str:
        parts = (
            type(failure).__name__,
            scrub(said_by(failure), self._secrets),
            request_id_of(failure, self._secrets),
        )
        return " ".join(filter(None, parts))

    @property
    def _secrets(self) -> list[str]:
        return [self._api_key, urlsplit(self._base_url).password or ""]

    async def _read(
        self,
        client: openai.AsyncOpenAI,
        arguments: JsonDict,
        answer: ModelResponse,
    ) -> AsyncGenerator[Any, None]:
        """Yield the JSON values of the stream. Raise StreamBroken for other data."""
        stream = openai.AsyncStream[object]
        async with await client.post(
            self.path, cast_to=object, body=arguments, stream=True, stream_cls=stream
        ) as events:
            answer.identity["request_id"] = events.response.headers.get(REQUEST_ID)
            try:
                async for raw in events:
                    yield raw
            except (ValueError, RecursionError) as error:
                raise StreamBroken from error

    def _refused(
        self, failure: Exception, payload: Payload, without: Collection[str]
    ) -> str:
        """Return the part of a request that the model has refused and that can be left out; "" for any other failure."""
        has_thoughts = payload.thoughts and THOUGHTS not in without
        refused = unsupported_argument(failure, payload.arguments, self.optional)
        refused = refused or unsupported_member(failure, payload.members)
        return refused or (
            THOUGHTS if has_thoughts and refuses_thoughts(failure) else ""
        )

    def _finished(
        self, answer: ModelResponse, payload: Payload, request: SentRequest
    ) -> ModelFinished:
        """Return the answer, with the server's data about it scrubbed."""
        finished = answer.finished()
        details: JsonDict = {
            name: scrub(value, self._secrets)
            for name, value in finished.stop_details.items()
        }
        details |= details_of_files(request.sent, request.whole)
        refused = THOUGHTS in request.without or answer.thoughts_refused
        prefix = ""
        if payload.thoughts and refused:
            logger.warning(
                "%s does not get the thoughts of %d earlier answers",
                answer.model,
                payload.thoughts,
            )
            details["thoughts_left_out"] = {
                "answers": payload.thoughts,
                "why": "refused",
            }
            prefix = THOUGHTS_REFUSED
        return replace(
            finished,
            blocks=servers.marked(finished.blocks, self._server),
            stop_details=details,
            prefix=prefix,
            answered_by=self._answered_by(answer.identity),
        )

    def _safe(self, event: Event) -> Event:
        """Return an event with the server's data about itself scrubbed."""
        if isinstance(event, AnswerMetered):
            return replace(event, answered_by=self._answered_by(event.answered_by))
        return event

    def _answered_by(self, identity: JsonDict) -> dict[str, str]:
        return scrub_ids(self._secrets, **identity)

    def _connect(self) -> openai.AsyncOpenAI:
        timeout = openai.Timeout(max(SILENCE, self._patience), connect=10.0)
        # A redirect would send the conversation to an unconfigured address.
        transport = openai.DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=timeout, verify=trusted()
        )
        return openai.AsyncOpenAI(
            api_key=self._api_key or NO_KEY,
            base_url=self._base_url,
            max_retries=0,
            timeout=timeout,
            http_client=transport,
        )


_END: Any = object()
#: The SDK's errors require a request, which is never read.
_NO_REQUEST = httpx2.Request("POST", OPENAI)


def _taken(answer: ModelResponse, raw: Any) -> Iterator[Event]:
    try:
        yield from answer.take(raw)
    except Malformed as error:
        raise StreamBroken from error
    except Failed as error:
        body = {"code": error.code, "message": error.message}
        raise openai.APIError(error.message, _NO_REQUEST, body=body) from error


def _timeout(answer: ModelResponse) -> Exception:
    """Return the error of an exceeded time limit."""
    if answer.complete:
        return StreamBroken()
    if answer.working:
        return ProviderError(
            _(
                "The model's answer took too long and was cut off. Ask for less at a time."
            )
        )
    return ProviderError(
        _("The model's server did not answer in time. Send your message again.")
    )
