"""Time limits for an answer, and notices to readers during the wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import anthropic
import httpx2
from django.utils.translation import gettext as _

from chats.agent.events import Event, ModelSilent
from chats.agent.provider import ProviderError
from chats.providers.anthropic.stream import StreamBroken, StreamedAnswer

logger = logging.getLogger(__name__)

ATTEMPTS = 4
#: Seconds: the limit of all tries before the first output, and the silence after which readers are notified.
PATIENCE = 120.0
NOTICE = 5.0


class Silent(Exception):
    """The API has sent nothing within the time of one try."""


class PendingResponse:
    """One request and its answer, read by a task of its own, so that waiting for it can be interrupted.

    `ask` sends the request. `failure` is the error, if the answer is not complete.
    """

    def __init__(
        self, ask: Callable[[], Awaitable[anthropic.AsyncStream[Any]]]
    ) -> None:
        self.failure: Exception = StreamBroken()
        self.heard = False
        # Size one, so that nothing is read faster than it is used.
        self._events: asyncio.Queue[Any] = asyncio.Queue(1)
        self._task = asyncio.create_task(self._read(ask))

    async def next(self, seconds: float) -> Any:
        """Return the next raw event. Raise TimeoutError, or StopAsyncIteration at the end."""
        async with asyncio.timeout(seconds):
            raw = await self._events.get()
        if raw is self:
            raise StopAsyncIteration
        self.heard = True
        return raw

    async def close(self) -> None:
        """Close the connection."""
        self._task.cancel()
        # This does not raise the cancellation of the task. That of the caller has to reach the caller.
        await asyncio.wait({self._task})

    async def _read(
        self, ask: Callable[[], Awaitable[anthropic.AsyncStream[Any]]]
    ) -> None:
        try:
            async with await ask() as events:
                async for event in events:
                    await self._events.put(event.to_dict(warnings=False))
        except (anthropic.AnthropicError, httpx2.RequestError) as error:
            self.failure = error
        except Exception as error:
            # The SDK raises various errors for events that are not JSON, and passes on connection errors. In any case, the end
            # has to be reported, or the reader would wait for it. The error's message may be the upstream's.
            logger.warning(
                "Reading an answer of Claude failed with %s", type(error).__name__
            )
            self.failure = StreamBroken()
        await self._events.put(self)


class Patience:
    """The wait for one answer over all its tries: `patience` seconds until the first output, and `longest` in all."""

    def __init__(self, patience: float, longest: float) -> None:
        self.attempt = 1
        self._patience = patience
        self._began = self._tried = self._now()
        self._ends = self._began + longest
        self._notice = NOTICE

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    @property
    def left(self) -> float:
        """The seconds left until the first output."""
        return self._began + self._patience - self._now()

    @property
    def _next_notice(self) -> float:
        return self._began + self._notice - self._now()

    @property
    def _try_left(self) -> float:
        """The seconds in which this try has to produce something. A later try gets more, in case the first got too few."""
        share = self.attempt / sum(range(1, ATTEMPTS + 1))
        return self._tried + self._patience * share - self._now()

    def next_try(self) -> ModelSilent:
        """Begin the next try; return the notice for readers."""
        self.attempt += 1
        self._tried = self._now()
        return self._silence()

    def _silence(self) -> ModelSilent:
        return ModelSilent(self.attempt, ATTEMPTS, round(self._now() - self._began))

    async def follow(
        self, reading: PendingResponse, answer: StreamedAnswer
    ) -> AsyncGenerator[Event, None]:
        """Yield an answer's events for display, and before them notices of silence. Raise ProviderError after too long."""
        while True:
            limits = [self._ends - self._now()]
            if not answer.begun:
                limits += [self.left, self._next_notice]
                limits += [] if reading.heard else [self._try_left]
            try:
                raw = await reading.next(max(min(limits), 0))
                for event in answer.take(raw):
                    yield event
            except StopAsyncIteration:
                return
            except StreamBroken as error:
                reading.failure = error
                return
            except TimeoutError:
                self._refuse_to_wait(answer)
                if not answer.begun and not reading.heard and self._try_left <= 0:
                    reading.failure = Silent()
                    return
                if self._next_notice <= 0:
                    # Each later notice comes after twice the time, because the stream is stored.
                    self._notice *= 2
                    yield self._silence()

    def _refuse_to_wait(self, answer: StreamedAnswer) -> None:
        if self._now() >= self._ends:
            raise ProviderError(
                _(
                    "Claude's answer took too long and was cut off. Ask for less at a time."
                )
            ) from None
        if not answer.begun and self.left <= 0:
            raise ProviderError(
                _("Claude did not begin to answer in time. Send your message again.")
            ) from None
