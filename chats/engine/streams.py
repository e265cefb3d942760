"""Follow a turn's events: first those stored, then live ones from a runner in this process, until the turn pauses or ends.

A follower that falls behind, or whose runner is in another process, reads the stored events. It does so when the runner
notifies it, and every POLL seconds in case the notification is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any
from weakref import WeakSet

from approvals.live import doorbell as bell
from approvals.live.listeners import listen
from approvals.runtime import database
from chats import doorbell, queries, queue
from chats.agent import events
from chats.models import Turn
from chats.states import TurnState

POLL = 1.0
CLOSING = (events.TurnPaused, events.TurnEnded, events.TurnFailed)


class _Follower:
    """A follower's mailbox of (seq, event). None in it says that there are stored events to read.

    Nothing is added to a full mailbox; the gap makes the follower read the stored events.
    """

    def __init__(self, turn_id: int) -> None:
        self.turn_id = turn_id
        self.mailbox: asyncio.Queue[tuple[int, events.Event] | None] = asyncio.Queue(maxsize=1000)

    def notify(self) -> None:
        # One reminder is enough for any number of notifications.
        if self.mailbox.empty():
            self.mailbox.put_nowait(None)


_followers: WeakSet[_Follower] = WeakSet()


class RestWatch:
    """Collects the turns that come to rest from its creation on, as far as this process is notified of them."""

    def __init__(self) -> None:
        self._resting: set[int] = set()
        self._changed = asyncio.Event()
        _watches.add(self)

    def add(self, turn_id: int) -> None:
        self._resting.add(turn_id)
        self._changed.set()

    async def wait(self, turn_ids: Collection[int]) -> None:
        """Return when one of these turns has come to rest, or after POLL seconds: the caller checks the rows."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL):
                while self._resting.isdisjoint(turn_ids):
                    self._changed.clear()
                    await self._changed.wait()


_watches: WeakSet[RestWatch] = WeakSet()


def publish(turn_id: int, seq: int, event: events.Event) -> None:
    """Give an event to this process's followers. Call it on the loop that they run on."""
    if isinstance(event, CLOSING):
        for watch in list(_watches):
            watch.add(turn_id)
    for follower in list(_followers):
        if follower.turn_id == turn_id and not follower.mailbox.full():
            follower.mailbox.put_nowait((seq, event))


def notify_others(turn_id: int, *, rests: bool = False) -> None:
    """Notify other processes, if turns are run by workers, that a turn's events were stored, and whether it rests now."""
    if queue.in_use():
        bell.notify(doorbell.STREAMS, {"type": "turn.moved", "turn": turn_id, "rests": rests})


async def listen_to_others() -> None:
    """Pass notifications of other processes on to this process's followers, until cancelled."""
    await listen([doorbell.STREAMS], _on_moved)


def _on_moved(message: Mapping[str, Any]) -> None:
    if message["rests"]:
        for watch in list(_watches):
            watch.add(message["turn"])
    for follower in list(_followers):
        if follower.turn_id == message["turn"]:
            follower.notify()


async def follow(turn_id: int, after: int = 0) -> AsyncIterator[tuple[int, events.Event]]:
    """Yield every (seq, event) after `after`, in order, up to the turn's next pause or its end."""
    follower = _Follower(turn_id)
    _followers.add(follower)
    seen = after
    while True:
        stored, over = await database.retry(_read, turn_id, seen)
        last: events.Event | None = None
        for seq, chunk in stored:
            seen, last = seq, events.from_json(chunk)
            yield seq, last
        if over and (last is None or isinstance(last, CLOSING)):
            return
        async for seq, event in _live(follower, seen):
            seen = seq
            yield seq, event
            if isinstance(event, CLOSING):
                return


async def _live(follower: _Follower, seen: int) -> AsyncIterator[tuple[int, events.Event]]:
    """Yield from the mailbox while the numbers are consecutive; end at a gap or after POLL seconds without an event."""
    while True:
        try:
            found = await asyncio.wait_for(follower.mailbox.get(), POLL)
        except TimeoutError:
            return
        if found is None:
            return
        seq, event = found
        if seq <= seen:
            continue
        if seq > seen + 1:
            return
        seen = seq
        yield seq, event


def _read(turn_id: int, seen: int) -> tuple[list[tuple[int, dict[str, object]]], bool]:
    # Read the state first: all events of a turn that was seen to be over are stored before the second read.
    over = not Turn.objects.filter(pk=turn_id, state__in=[TurnState.QUEUED, TurnState.RUNNING]).exists()
    return queries.events_after(turn_id, seen), over
