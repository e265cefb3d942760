"""Serve all followers of this process together: one read on one connection serves all that a notification woke."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from approvals.access.callers import Caller, Credentials
from approvals.api.agentforge import encode, feed
from approvals.api.agentforge.encode import StreamCursor
from approvals.api.agentforge.feed import FeedPage, FrameCache
from approvals.api.outcomes import may_read_secrets
from approvals.db import pool
from approvals.live import listeners
from approvals.live.batching import BatchReader

#: Maximum delay, in seconds, of an event after a lost notification, and of the end of a revoked key's connection.
POLL = 2.0


@dataclass(frozen=True, slots=True)
class FollowerState:
    """A follower's next read."""

    credentials: Credentials
    thread: str
    cursor: StreamCursor


@dataclass(frozen=True, slots=True)
class FramePage:
    """Frames of events, the cursor after them, and whether more can be read at once."""

    frames: Sequence[bytes]
    cursor: StreamCursor
    more: bool


async def follow(
    credentials: Credentials, groups: Sequence[str], thread: str, cursor: StreamCursor
) -> AsyncIterator[bytes]:
    """Yield frames of the events after `cursor` as they happen, while the credentials are valid.

    Reads at every notification to one of `groups`.
    """
    async with listeners.subscribe(*groups) as notifications:
        yield encode.opening(cursor)
        while True:
            try:
                page = await _readers.read(
                    None, FollowerState(credentials, thread, cursor)
                )
            except pool.AWAY:
                # The cursor is kept, so nothing that happens meanwhile is missed.
                await asyncio.sleep(pool.RETRY)
                continue
            if page is None:
                return
            for frame in page.frames:
                yield frame
            cursor = page.cursor
            if not page.more:
                await notifications.wait(POLL)


def _read_all(
    subject: None, readings: Sequence[FollowerState]
) -> list[FramePage | Exception | None]:
    """Return a result for each reading; equal credentials and equal cursors share a query."""
    caller_of = functools.cache(Credentials.caller)
    page_at = functools.cache(feed.read_page)
    encoder = FrameCache()
    answers: list[FramePage | Exception | None] = []
    # Read all pages before any rights: a follower who loses a right receives nothing that happened afterwards.
    for cursor in {reading.cursor for reading in readings}:
        page_at(cursor)
    for reading in readings:
        try:
            answers.append(_read(reading, caller_of, page_at, encoder))
        except Exception as error:
            # An error for one follower must not affect the others.
            answers.append(error)
    return answers


def _read(
    reading: FollowerState,
    caller_of: Callable[[Credentials], Caller | None],
    page_at: Callable[[StreamCursor], FeedPage],
    encoder: FrameCache,
) -> FramePage | None:
    caller = caller_of(reading.credentials)
    if caller is None or "read" not in caller.scopes:
        return None
    page = page_at(reading.cursor)
    frames, rest = encoder.frames(
        [
            replace(each, masked=not may_read_secrets(caller, each.request))
            for each in page.entries
            if feed.may_receive(caller, reading.thread, each.request)
        ]
    )
    return FramePage(frames, rest or page.cursor, page.more or rest is not None)


_readers = BatchReader(_read_all)
