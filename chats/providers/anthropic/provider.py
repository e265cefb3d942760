"""The provider that asks Claude, retries, and reads the streamed answer.

Observed behavior of the SDK: a connection that closes early raises nothing and leaves no stop reason, or raises the transport's
own error; an `error` event inside a stream is an APIStatusError with status 200.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection
from dataclasses import replace
from functools import partial
from typing import Any

import anthropic
from django.utils.translation import gettext as _

from approvals.json_types import JsonDict
from chats.agent.agent import Agent
from chats.agent.events import Event
from chats.agent.provider import ModelRequest, ProviderError
from chats.providers import retries
from chats.providers.anthropic import models
from chats.providers.anthropic.errors import (
    REQUEST_ID,
    about_files,
    error_for_people,
    error_for_the_log,
    is_temporary,
    is_too_long,
    request_id_of,
    retry_after,
    unsupported_feature,
)
from chats.providers.anthropic.features import secrets_in
from chats.providers.anthropic.history import later_beginning
from chats.providers.anthropic.patience import (
    ATTEMPTS,
    PATIENCE,
    Patience,
    PendingResponse,
)
from chats.providers.anthropic.problems import problems_of
from chats.providers.anthropic.request import NAME, Payload, request_arguments
from chats.providers.anthropic.stream import StreamedAnswer
from chats.providers.building import build
from chats.providers.clients import Clients, trusted
from chats.providers.files import details_of_files, with_fewer_files
from chats.providers.sent_requests import SentRequest

logger = logging.getLogger(__name__)

#: Seconds. If the API asks for a longer wait than this, the provider gives up.
LONGEST_WAIT = 30.0
#: Seconds: how long a stream may be silent, and how long one answer may take in all.
SILENCE = 120.0
LONGEST_ANSWER = 1800.0
#: Seconds to wait for the API's information about a model.
LOOK_UP = 5.0


class AnthropicProvider:
    """Asks `model`, unless the agent names its own. Raises ProviderError at once if there is no key.

    An empty `base_url` means ANTHROPIC_BASE_URL, or else Anthropic's own; `longest` limits one answer, and `patience` the wait
    for its first output, in seconds.
    """

    name = NAME

    def __init__(
        self,
        *,
        api_key: str,
        model: str,
        base_url: str = "",
        longest: float = LONGEST_ANSWER,
        patience: float = PATIENCE,
    ) -> None:
        if not api_key:
            raise ProviderError(
                _(
                    "No API key for Claude is configured. Set ANTHROPIC_API_KEY, or HITL_PROVIDER=scripted."
                )
            )
        if not api_key.isascii():
            raise ProviderError(
                _("ANTHROPIC_API_KEY contains invalid characters. Copy it again.")
            )
        self.model = model
        self._api_key = api_key
        self._base_url = base_url or None
        self._longest = longest
        self._patience = patience
        self._clients = Clients(self._connect)
        #: The features that each model was found not to support, so that later requests leave them out.
        self._unsupported: defaultdict[str, set[str]] = defaultdict(set)
        #: The features of models that are not listed.
        self._looked_up: dict[str, models.Takes] = {}

    def problems(self, agent: Agent) -> list[str]:
        """Return settings of an agent that Claude would refuse or ignore, for `manage.py check`."""
        model = agent.model or self.model
        return list(problems_of(agent, model, models.takes(model)))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """See `Provider.stream`. Retry failures before the first output, up to ATTEMPTS requests in all."""
        client = await self._clients.of_loop()
        model = request.agent.model or self.model
        create: Any = client.messages.create
        takes = await self._takes(client, model)
        patience = Patience(self._patience, self._longest)
        unsupported = frozenset(self._unsupported[model])
        sending = SentRequest(request, request, unsupported)
        while True:
            make = partial(
                request_arguments,
                sending.sent,
                model,
                sending.without,
                takes,
                skip=sending.skip,
            )
            payload = await build(sending.sent, make)
            secrets = [self._api_key, *secrets_in(payload.arguments)]
            answer = StreamedAnswer(model, secrets)
            begin = partial(_begin, create, payload.arguments, answer)
            reading = PendingResponse(begin)
            try:
                async for item in patience.follow(reading, answer):
                    yield item
            finally:
                await reading.close()
            if answer.complete:
                details = details_of_files(sending.sent, sending.whole)
                left_out = _left_out(payload, sending.without) | details
                yield answer.finished(payload.history.prefix, left_out)
                return
            failure = reading.failure
            error = error_for_the_log(failure, secrets)
            if not answer.begun and (
                reduced := self._reduced(sending, payload, failure, model, error)
            ):
                sending = reduced
                continue
            wait = retries.seconds_to_wait(retry_after(failure), patience.attempt)
            logger.warning(
                "Try %d of %d to ask %s failed: %s",
                patience.attempt,
                ATTEMPTS,
                model,
                error,
            )
            last = answer.begun or patience.attempt == ATTEMPTS
            too_long = wait > min(LONGEST_WAIT, patience.left)
            if last or too_long or not is_temporary(failure):
                # Raised outside of any `except`, so that no log shows the upstream's error as the cause.
                request_id = answer.answered_by.get("request_id")
                raise _error(failure, model, secrets, request_id)
            yield patience.next_try()
            await asyncio.sleep(wait)

    def _reduced(
        self,
        request: SentRequest,
        payload: Payload,
        failure: Exception,
        model: str,
        problem: str,
    ) -> SentRequest | None:
        """Return a request without what the API has refused of it; None for any other failure (`problem` in words)."""
        feature = unsupported_feature(failure, payload.arguments)
        if feature:
            # Earlier thoughts and containers may be refused because of this one conversation.
            self._unsupported[model] |= {feature} - {"thoughts", "container"}
            logger.warning("%s does not take %s here: %s", model, feature, problem)
            return replace(request, without=request.without | {feature})
        if about_files(failure, request.sent):
            logger.warning("%s does not take the files of a chat: %s", model, problem)
            sent = with_fewer_files(request.sent, request.whole)
            return replace(request, sent=sent)
        if not is_too_long(failure):
            return None
        skip = later_beginning(request.sent.messages, payload.history.skipped)
        if not skip:
            return None
        logger.warning(
            "The chat is too long for %s: its first %d messages are left out",
            model,
            skip,
        )
        return replace(request, skip=skip)

    async def _takes(
        self, client: anthropic.AsyncAnthropic, model: str
    ) -> models.Takes:
        """Return a model's features: as listed, or from the API."""
        if (listed := models.known(model)) is not None:
            return listed
        if model not in self._looked_up:
            try:
                info = await client.models.retrieve(model, timeout=LOOK_UP)
                self._looked_up[model] = models.from_capabilities(
                    info.to_dict(warnings=False)
                )
            except Exception as error:
                # The request itself will fail with a message for people, or be answered by the newest rules.
                logger.info(
                    "The API says nothing about %s: %s",
                    model,
                    error_for_the_log(error, [self._api_key]),
                )
                self._looked_up[model] = models.NEWEST
        return self._looked_up[model]

    def _connect(self) -> anthropic.AsyncAnthropic:
        timeout = anthropic.Timeout(SILENCE, connect=10.0)
        # A redirect would send the conversation to an unconfigured address.
        transport = anthropic.DefaultAsyncHttpxClient(
            follow_redirects=False, timeout=timeout, verify=trusted()
        )
        return anthropic.AsyncAnthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            max_retries=0,
            timeout=timeout,
            http_client=transport,
        )


def _error(
    failure: Exception, model: str, secrets: list[str], request_id: str | None
) -> ProviderError:
    """Return the error of a failed request, for people."""
    problem = error_for_people(failure, model, secrets)
    request_id = request_id or request_id_of(failure, secrets)
    return ProviderError(retries.with_request_id(problem, request_id))


async def _begin(
    create: Any, arguments: JsonDict, answer: StreamedAnswer
) -> anthropic.AsyncStream[anthropic.types.RawMessageStreamEvent]:
    """Send a request; return the stream of its answer, which gets the id of the request."""
    events: anthropic.AsyncStream[anthropic.types.RawMessageStreamEvent] = await create(
        **arguments, stream=True
    )
    answer.request_id = events.response.headers.get(REQUEST_ID, "")
    return events


def _left_out(payload: Payload, without: Collection[str]) -> JsonDict:
    """Return a notice if messages, thoughts or a container were left out for the first time: how many, and why."""
    refused = "thoughts" in without
    lost: JsonDict = {"container_left_out": {}} if "container" in without else {}
    if payload.history.shortened:
        return lost | {"messages_left_out": {"messages": payload.history.skipped}}
    if not payload.history.left_out or not (refused or payload.history.changed):
        return lost
    why = "refused" if refused else "changed"
    logger.warning(
        "The thoughts of %d earlier answers are left out: %s",
        payload.history.left_out,
        _WHY[why],
    )
    return lost | {
        "thoughts_left_out": {"answers": payload.history.left_out, "why": why}
    }


_WHY = {
    "refused": "the API did not accept them, perhaps because another account made them",
    "changed": "the instructions, tools or messages that were sent before them have changed",
}
