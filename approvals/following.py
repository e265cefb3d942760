"""Followers of this process read together: one look at the record, on one connection, serves all that a ring has woken."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from approvals import dbpool, feed, waiting
from approvals.feed import Page, Teller
from approvals.machines import Caller, Credentials
from approvals.wire import agentforge
from approvals.wire.agentforge import Cursor

#: How long a lost ring may delay an event, and a revoked key stay connected, in seconds.
POLL = 2.0


@dataclass(frozen=True, slots=True)
class Wish:
    """What one follower wants to read next."""

    credentials: Credentials
    thread: str
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Found:
    """Events as bytes, where the next ones begin, and whether they can be read at once."""

    frames: Sequence[bytes]
    cursor: Cursor
    more: bool


async def follow(credentials: Credentials, groups: Sequence[str], thread: str, cursor: Cursor) -> AsyncIterator[bytes]:
    """Events behind `cursor`, as they happen, for as long as the credentials are good. `groups` ring when to look."""
    async with waiting.listening(*groups) as ears:
        yield agentforge.opening(cursor)
        while True:
            try:
                found = await _round().read(Wish(credentials, thread, cursor))
            except dbpool.AWAY:
                # Their place is kept: nothing that happens meanwhile is missed.
                await asyncio.sleep(dbpool.RETRY)
                continue
            if found is None:
                return
            for frame in found.frames:
                yield frame
            cursor = found.cursor
            if not found.more:
                await ears.wait(POLL)


class Round:
    """Collects wishes while the ones before are being read."""

    def __init__(self) -> None:
        self._wishes: list[tuple[Wish, asyncio.Future[Found | None]]] = []
        self._reading: asyncio.Task[None] | None = None

    async def read(self, wish: Wish) -> Found | None:
        """What has come; None for who may not follow any more."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Found | None] = loop.create_future()
        self._wishes.append((wish, answer))
        if self._reading is None:
            # A context of its own: this task serves many requests and must hold on to none.
            self._reading = loop.create_task(self._read(), context=contextvars.Context())
        return await answer

    async def _read(self) -> None:
        try:
            while self._wishes:
                taken, self._wishes = self._wishes, []
                answers = await self._answers([wish for wish, _ in taken])
                for (_, waiting_for), answer in zip(taken, answers, strict=True):
                    if waiting_for.done():
                        continue
                    if isinstance(answer, Exception):
                        waiting_for.set_exception(answer)
                    else:
                        waiting_for.set_result(answer)
        finally:
            self._reading = None

    async def _answers(self, wishes: Sequence[Wish]) -> Sequence[Found | Exception | None]:
        try:
            return await dbpool.run(_read_all, wishes)
        except Exception as error:
            # Nobody may be left waiting for an answer.
            return [error] * len(wishes)


_rounds: WeakKeyDictionary[asyncio.AbstractEventLoop, Round] = WeakKeyDictionary()


def _round() -> Round:
    return _rounds.setdefault(asyncio.get_running_loop(), Round())


def _read_all(wishes: Sequence[Wish]) -> list[Found | Exception | None]:
    """An answer to each; who sends the same credentials, or stands at the same place, shares a look."""
    caller_of, page_at, teller = functools.cache(Credentials.caller), functools.cache(feed.read), Teller()
    found: list[Found | Exception | None] = []
    for wish in wishes:
        try:
            found.append(_read(wish, caller_of, page_at, teller))
        except Exception as error:
            # One follower's trouble is not the others'.
            found.append(error)
    return found


def _read(
    wish: Wish, caller_of: Callable[[Credentials], Caller | None], page_at: Callable[[Cursor], Page], teller: Teller
) -> Found | None:
    caller = caller_of(wish.credentials)
    if caller is None or "read" not in caller.scopes:
        return None
    page = page_at(wish.cursor)
    frames, rest = teller.tell([each for each in page.entries if feed.may_hear(caller, wish.thread, each.request)])
    return Found(frames, rest or page.cursor, page.more or rest is not None)
