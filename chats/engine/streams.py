"""Follow a turn's events: those stored so far, then live ones as they happen in this process, until it pauses or ends.

A follower that falls behind, or that sits in another process than the runner, reads the stored events: the runner rings when
there are new ones, and where the ring is lost it looks every POLL seconds. Nothing depends on the ring.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any
from weakref import WeakSet

from approvals.live import doorbell as bell
from approvals.live.listeners import hear
from approvals.runtime import database
from chats import doorbell, queries, queue
from chats.agent import events
from chats.models import Turn
from chats.states import TurnState

POLL = 1.0
CLOSING = (events.TurnPaused, events.TurnEnded, events.TurnFailed)


class _Follower:
    """One follower's mailbox; a full one is not fed any more, and its owner reads the stored events instead.

    None in it says that there are stored events to be read.
    """

    def __init__(self, turn_id: int) -> None:
        self.turn_id = turn_id
        self.mail: asyncio.Queue[tuple[int, events.Event] | None] = asyncio.Queue(maxsize=1000)

    def look(self) -> None:
        # One reminder is enough, however often it is rung.
        if self.mail.empty():
            self.mail.put_nowait(None)


_followers: WeakSet[_Follower] = WeakSet()


class Rests:
    """Hears which turns of this process come to rest, from when it is made; of others nothing is heard."""

    def __init__(self) -> None:
        self._heard: set[int] = set()
        self._bell = asyncio.Event()
        _resting.add(self)

    def note(self, turn_id: int) -> None:
        self._heard.add(turn_id)
        self._bell.set()

    async def wait(self, turn_ids: Collection[int]) -> None:
        """Return when one of these turns has come to rest, or after a moment, to be looked at."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL):
                while self._heard.isdisjoint(turn_ids):
                    self._bell.clear()
                    await self._bell.wait()


_resting: WeakSet[Rests] = WeakSet()


def publish(turn_id: int, seq: int, event: events.Event) -> None:
    """Hand an event to this process's followers. Call it on the loop that they run on."""
    if isinstance(event, CLOSING):
        for rests in list(_resting):
            rests.note(turn_id)
    for follower in list(_followers):
        if follower.turn_id == turn_id and not follower.mail.full():
            follower.mail.put_nowait((seq, event))


def tell_others(turn_id: int, *, rests: bool = False) -> None:
    """Let other processes know that a turn's events were stored, and whether it has come to rest; where there are others."""
    if queue.in_use():
        bell.ring(doorbell.STREAMS, {"type": "turn.moved", "turn": turn_id, "rests": rests})


async def hear_others() -> None:
    """Wake this process's followers for what other processes have stored; until cancelled."""
    await hear(doorbell.STREAMS, _heard)


def _heard(message: Mapping[str, Any]) -> None:
    if message["rests"]:
        for rests in list(_resting):
            rests.note(message["turn"])
    for follower in list(_followers):
        if follower.turn_id == message["turn"]:
            follower.look()


async def follow(turn_id: int, after: int = 0) -> AsyncIterator[tuple[int, events.Event]]:
    """Yield (seq, event) behind `after`, in order and without a gap, up to the turn's next pause or its end."""
    follower = _Follower(turn_id)
    _followers.add(follower)
    seen = after
    while True:
        stored, over = await database.insist(_read, turn_id, seen)
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
    """What arrives in the mailbox, while it follows on directly; ends at a gap or a silence, for another read."""
    while True:
        try:
            found = await asyncio.wait_for(follower.mail.get(), POLL)
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
    # The state first: what is stored after a turn was seen to be over cannot be missed by the read behind it.
    over = not Turn.objects.filter(pk=turn_id, state__in=[TurnState.QUEUED, TurnState.RUNNING]).exists()
    return queries.events_after(turn_id, seen), over
