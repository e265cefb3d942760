"""The stream of one run of a turn: numbered, handed to followers at once, stored in batches and with every commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from approvals.runtime import database
from chats import actions
from chats.actions.keeping import Claim, Recorded
from chats.agent import events
from chats.engine import streams
from chats.exceptions import LeaseLost

logger = logging.getLogger(__name__)

FLUSH_EVERY = 0.05
FLUSH_AT = 20

#: Stores events, the first number free behind them given, and perhaps numbers and stores some of its own: gives those.
Commit = Callable[[Sequence[Recorded], int], Sequence[Recorded] | None]


class Ledger:
    """Events of a turn in order. `step` is the index under which new ones are filed."""

    def __init__(self, claim: Claim, last_seq: int) -> None:
        self.step = 0
        #: The calls whose results the stream tells.
        self.told: set[str] = set()
        self._claim = claim
        self._seq = self._stored = last_seq
        #: All since the last commit that waited for the disk: a database that crashes may lose what was stored since then.
        self._kept: list[Recorded] = []
        #: What is recorded while a commit is on its way, which may number events of its own.
        self._held: list[tuple[int, events.Event]] | None = None
        self._writing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None
        self._closed = False

    def record(self, event: events.Event) -> None:
        """Number an event and hand it to the followers; it is stored a moment later."""
        if self._held is not None:
            self._held.append((self.step, event))
        else:
            self._number(self.step, event)

    def tell(self, result: events.ToolSucceeded | events.ToolFailed) -> None:
        """Record the result of a call, once."""
        if result.tool_call_id not in self.told:
            self.told.add(result.tool_call_id)
            self.record(result)

    def close(self) -> None:
        """The run is over: what comes late is in the rows, and its number would be the next run's."""
        self._closed = True

    async def commit(self, work: Commit) -> Sequence[Recorded]:
        """Have `work` store everything, in a transaction whose commit waits for the disk; gives the events that it added."""
        async with self._writing:
            self._held = []
            try:
                added = await database.run(work, list(self._kept), self._seq + 1) or []
                self._kept = []
                self._publish(added)
                self._stored = self._seq
                return added
            finally:
                held, self._held = self._held, None
                for step, event in held:
                    self._number(step, event)

    def _number(self, step: int, event: events.Event) -> None:
        if self._closed:
            return
        item = Recorded(self._seq + 1, step, event)
        self._kept.append(item)
        self._publish([item])
        if self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._flush_soon())

    def _publish(self, items: Sequence[Recorded]) -> None:
        for item in items:
            self._seq = item.seq
            streams.publish(self._claim.turn_id, item.seq, item.event)

    async def _flush_soon(self) -> None:
        """Store what there is; while the database is away, try again together with what has come since."""
        while self._stored < self._seq:
            deadline = asyncio.get_running_loop().time() + FLUSH_EVERY
            while self._seq - self._stored < FLUSH_AT and (left := deadline - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(min(left, FLUSH_EVERY / 5))
            try:
                async with self._writing:
                    await self._flush()
            except LeaseLost:
                logger.info("Turn %s has another runner; its stream ends here", self._claim.turn_id)
                return
            except database.AWAY:
                if self._closed:
                    return
                await asyncio.sleep(database.RETRY)

    async def _flush(self) -> None:
        kept, last = list(self._kept), self._seq
        if kept and self._stored < last:
            await database.run(actions.append_events, self._claim, kept)
            streams.tell_others(self._claim.turn_id)
        self._stored = last
