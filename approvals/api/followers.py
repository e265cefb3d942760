"""Followers of this process read together: one look at the record, on one connection, serves all that a ring has woken."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from approvals.access.callers import Caller, Credentials
from approvals.api import agentforge, feed
from approvals.api.agentforge import Cursor
from approvals.api.feed import Page, Teller
from approvals.live import waiting
from approvals.live.batching import Rounds
from approvals.runtime import database

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
                found = await _readers.read(None, Wish(credentials, thread, cursor))
            except database.AWAY:
                # Their place is kept: nothing that happens meanwhile is missed.
                await asyncio.sleep(database.RETRY)
                continue
            if found is None:
                return
            for frame in found.frames:
                yield frame
            cursor = found.cursor
            if not found.more:
                await ears.wait(POLL)


def _read_all(about: None, wishes: Sequence[Wish]) -> list[Found | Exception | None]:
    """An answer to each; who sends the same credentials, or stands at the same place, shares a look."""
    caller_of, page_at, teller = functools.cache(Credentials.caller), functools.cache(feed.read), Teller()
    found: list[Found | Exception | None] = []
    # All pages before all rights: whoever loses a right hears nothing that happens afterwards.
    for cursor in {wish.cursor for wish in wishes}:
        page_at(cursor)
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


_readers = Rounds(_read_all)
