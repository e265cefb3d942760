"""The stream of one run of a turn: numbered, handed to followers at once, stored in batches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from approvals import dbpool
from chats import actions, streams
from chats.actions.keeping import Claim, Recorded
from chats.agent import events
from chats.exceptions import LeaseLost

logger = logging.getLogger(__name__)

FLUSH_EVERY = 0.05
FLUSH_AT = 20


class Ledger:
    """Events of a turn in order. `step` is the index under which new ones are filed."""

    def __init__(self, claim: Claim, last_seq: int) -> None:
        self.step = 0
        self._claim = claim
        self._seq = last_seq
        self._unsaved: list[Recorded] = []
        self._writing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def next_seq(self) -> int:
        return self._seq + 1

    def record(self, event: events.Event) -> None:
        """Number an event and hand it to the followers; it is stored a moment later."""
        if self._closed:
            return
        item = Recorded(self.next_seq, self.step, event)
        self._unsaved.append(item)
        self.adopt([item])
        if self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._flush_soon())

    def close(self) -> None:
        """The run is over: what comes late is in the rows, and its number would be the next run's."""
        self._closed = True

    def adopt(self, stored: Sequence[Recorded]) -> None:
        """Hand on events that an action has numbered and stored."""
        for item in stored:
            self._seq = item.seq
            streams.publish(self._claim.turn_id, item.seq, item.event)

    async def drain(self) -> list[Recorded]:
        """What is not stored yet, for the next commit to store; nothing is being written behind its back."""
        async with self._writing:
            return self._take()

    async def _flush_soon(self) -> None:
        """Store what there is; while the database is away it is kept, and tried again together with what has come since."""
        while not await self._flush():
            await asyncio.sleep(dbpool.RETRY)

    async def _flush(self) -> bool:
        """Whether all that was there is stored, or is no longer ours to store."""
        deadline = asyncio.get_running_loop().time() + FLUSH_EVERY
        while len(self._unsaved) < FLUSH_AT and (left := deadline - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(min(left, FLUSH_EVERY / 5))
        async with self._writing:
            items = self._take()
            try:
                if items:
                    await dbpool.run(actions.append_events, self._claim, items)
                    streams.tell_others(self._claim.turn_id)
            except LeaseLost:
                logger.info("Turn %s has another runner; its stream ends here", self._claim.turn_id)
            except dbpool.AWAY:
                # A piece that is left out here would be missing for ever from the streams of other processes.
                self._unsaved = [*items, *self._unsaved]
                return self._closed
        return True

    def _take(self) -> list[Recorded]:
        items, self._unsaved = self._unsaved, []
        return items
