"""Follow a turn's events: as its runner publishes them, or from the stored rows, until the turn pauses or ends.

The events of a turn are numbered. A process keeps the latest ones of each turn that reached it: from its own runner, or through
the channel layer from another process. A follower reads the stored rows only for events that it missed, when the runner reports
them as stored, and every POLL seconds in case that notification is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from django.db.models import BigAutoField

from approvals.db import pool
from approvals.db.prepared import Parameter, Prepared
from approvals.live import doorbell as bell
from approvals.live.listeners import Notifications, listen
from chats import doorbell, queries
from chats.agent import events
from chats.models import Turn
from chats.states import TurnState

POLL = 1.0
CLOSING = (events.TurnPaused, events.TurnEnded, events.TurnFailed)
#: Maximum running turns without followers whose latest events are kept, and events kept of each turn. A follower that is further
#: behind reads the rows.
FEEDS = 500
RECENT = 200

Numbered = tuple[int, events.Event]


@dataclass(slots=True)
class _Feed:
    """The latest events of one running turn, without gaps, and its followers in this process.

    `begun` is the number after which a run in this process continues, if none of its events has arrived yet.
    """

    latest: deque[Numbered] = field(default_factory=lambda: deque(maxlen=RECENT))
    followers: set[_Follower] = field(default_factory=set)
    begun: int | None = None

    def add(self, seq: int, event: events.Event) -> None:
        last = self.latest[-1][0] if self.latest else 0
        if seq <= last:
            return
        if seq != last + 1:
            # Some were lost, or another runner has restarted after the last commit.
            self.latest.clear()
        self.latest.append((seq, event))

    def after(self, seen: int) -> list[Numbered]:
        """Return the events directly after number `seen`, up to a pause or the end."""
        first = self.latest[0][0] if self.latest else 0
        if not self.latest or not first <= seen + 1 <= self.latest[-1][0]:
            return []
        following: list[Numbered] = []
        for number in range(seen + 1 - first, len(self.latest)):
            following.append(self.latest[number])
            if isinstance(following[-1][1], CLOSING):
                break
        return following

    def has_next(self, seen: int) -> bool:
        """Return whether the event after number `seen` is here, or will arrive here first."""
        return self.begun == seen if not self.latest else bool(self.after(seen))


class _Follower:
    """A follower of a turn that has seen its events up to number `seen`. `due`: the rows are to be read."""

    def __init__(self, seen: int, *, due: bool) -> None:
        self.seen = seen
        self.due = due
        self._stored = 0
        self._notifications = Notifications()

    def wake(self, *, stored: int = 0) -> None:
        """Have the follower look for events; `stored` is the last number that is known to be stored."""
        self._stored = stored
        self._notifications.record()

    def must_read(self) -> bool:
        """Return whether to read the rows: for the first time, after POLL seconds, or for missed events that are stored."""
        due = self.due or self._stored > self.seen
        self.due = False
        self._stored = 0
        return due

    async def wait(self) -> None:
        """Return when there may be something to do; after POLL seconds the rows are to be read."""
        self.due = not await self._notifications.wait(POLL)


_feeds: dict[int, _Feed] = {}


class RestWatch:
    """Collects the turns that come to rest from its creation on, as far as this process is notified of them."""

    def __init__(self) -> None:
        self._resting: set[int] = set()
        self._notifications = Notifications()
        _watches.add(self)

    def add(self, turn_id: int) -> None:
        self._resting.add(turn_id)
        self._notifications.record()

    async def wait(self, turn_ids: Collection[int]) -> None:
        """Return when one of these turns has come to rest, or after POLL seconds: the caller checks the rows."""
        await self._notifications.wait(
            POLL, until=lambda: not self._resting.isdisjoint(turn_ids)
        )


_watches: WeakSet[RestWatch] = WeakSet()


def publish(turn_id: int, published: Sequence[Numbered], *, stored: int = 0) -> None:
    """Give events to this process's followers, with the last stored number.

    Call it on the loop that the followers run on.
    """
    feed = _feed(turn_id)
    for seq, event in published:
        feed.add(seq, event)
        if isinstance(event, CLOSING):
            # Later followers read the rows.
            _feeds.pop(turn_id, None)
            for watch in list(_watches):
                watch.add(turn_id)
    for follower in feed.followers:
        follower.wake(stored=stored)


def begin(turn_id: int, last_seq: int) -> None:
    """Replace the events of an earlier run of a turn by those of a run in this process, which continues after `last_seq`."""
    feed = _feed(turn_id)
    feed.latest.clear()
    feed.begun = last_seq


def _feed(turn_id: int) -> _Feed:
    if turn_id in _feeds:
        return _feeds[turn_id]
    if len(_feeds) >= FEEDS:
        unused = next(
            (known for known, feed in _feeds.items() if not feed.followers), None
        )
        if unused is not None:
            del _feeds[unused]
    feed = _feeds[turn_id] = _Feed()
    return feed


async def send_to_others(
    turn_id: int, published: Sequence[Numbered], *, stored: int
) -> None:
    """Send events to the followers in other processes, if workers run the turns; see `publish`."""
    if doorbell.has_workers():
        chunks = [[seq, events.to_json(event)] for seq, event in published]
        await bell.send(
            doorbell.STREAMS,
            {
                "type": "turn.events",
                "turn": turn_id,
                "events": chunks,
                "stored": stored,
            },
        )


async def listen_to_others() -> None:
    """Pass the events of runners in other processes on to this process's followers, until cancelled."""
    await listen([doorbell.STREAMS], _on_events)


def _on_events(message: Mapping[str, Any]) -> None:
    published = [(seq, events.from_json(chunk)) for seq, chunk in message["events"]]
    publish(message["turn"], published, stored=message["stored"])


async def follow(turn_id: int, after: int = 0) -> AsyncIterator[Numbered]:
    """Yield every (seq, event) after `after`, in order, up to the turn's next pause or its end."""
    async for batch in follow_together(turn_id, after):
        for numbered in batch:
            yield numbered


async def follow_together(
    turn_id: int, after: int = 0
) -> AsyncIterator[Sequence[Numbered]]:
    """Yield the events of `follow` in batches of those available at the same time."""
    feed = _feed(turn_id)
    follower = _Follower(after, due=not feed.has_next(after))
    feed.followers.add(follower)
    try:
        async for batch in _events_of(turn_id, feed, follower):
            follower.seen = batch[-1][0]
            yield batch
    finally:
        feed.followers.discard(follower)
        if not feed.followers and not feed.latest and _feeds.get(turn_id) is feed:
            del _feeds[turn_id]


async def _events_of(
    turn_id: int, feed: _Feed, follower: _Follower
) -> AsyncIterator[list[Numbered]]:
    while True:
        if batch := feed.after(follower.seen):
            yield batch
            if isinstance(batch[-1][1], CLOSING):
                return
        elif follower.must_read():
            stored, over = await pool.retry(_read, turn_id, follower.seen)
            if stored:
                # There may be more of them.
                follower.due = True
                yield stored
            if over and (not stored or isinstance(stored[-1][1], CLOSING)):
                return
        else:
            await follower.wait()


#: The state of a turn, for followers of its stream.
_STATE: Prepared[Any] = Prepared(
    lambda: Turn.objects.filter(pk=Parameter("pk", BigAutoField())).values_list(
        "state", flat=True
    )
)


def _read(turn_id: int, seen: int) -> tuple[list[Numbered], bool]:
    # Read the state first: all events of an ended turn are stored before the second read.
    over = _STATE.first(pk=turn_id) not in {TurnState.QUEUED, TurnState.RUNNING}
    return [
        (seq, events.from_json(chunk))
        for seq, chunk in queries.events_after(turn_id, seen)
    ], over
