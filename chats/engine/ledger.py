"""The event stream of one run of a turn: numbered, published at once, and stored in batches and with every commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from approvals.runtime import database
from chats import actions
from chats.actions.writes import Claim, Recorded
from chats.agent import events
from chats.engine import streams
from chats.exceptions import LeaseLost

logger = logging.getLogger(__name__)

#: Events are stored after so many seconds, or as soon as there are so many.
FLUSH_EVERY = 0.05
FLUSH_AT = 20

#: Stores the given events, and perhaps events of its own numbered from the given `seq` on, which it returns.
Commit = Callable[[Sequence[Recorded], int], Sequence[Recorded] | None]


def rests_with(added: Sequence[Recorded]) -> bool:
    """Return whether a turn rests after a commit that added these events: it is suspended, or has ended."""
    return bool(added) and isinstance(added[-1].event, streams.CLOSING)


class Ledger:
    """The events of a turn in order. New ones belong to the step with index `step`."""

    def __init__(self, claim: Claim, last_seq: int) -> None:
        self.step = 0
        #: The toolCallIds whose results the stream reports.
        self.reported: set[str] = set()
        self._claim = claim
        self._seq = self._stored = last_seq
        #: Everything since the last synchronous commit; a database that crashes may lose what was stored after that.
        self._kept: list[Recorded] = []
        #: (step, event) recorded while a commit is running, which may number events of its own.
        self._held: list[tuple[int, events.Event]] | None = None
        self._writing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None
        self._closed = False

    def record(self, event: events.Event) -> None:
        """Number an event and publish it; it is stored a moment later."""
        if self._held is not None:
            self._held.append((self.step, event))
        else:
            self._number(self.step, event)

    def report(self, result: events.ToolSucceeded | events.ToolFailed) -> None:
        """Record the result of a call, unless the stream reports it already."""
        if result.tool_call_id not in self.reported:
            self.reported.add(result.tool_call_id)
            self.record(result)

    def close(self) -> None:
        """End the run. Events that arrive later are dropped: they are in the rows, and their numbers belong to the next run."""
        self._closed = True

    async def commit(self, work: Commit) -> Sequence[Recorded]:
        """Have `work` store everything in a synchronous commit; notify other processes, and return the events that it added."""
        async with self._writing:
            self._held = []
            try:
                added = await database.run(work, list(self._kept), self._seq + 1) or []
                self._kept = []
                self._publish(added)
                self._stored = self._seq
            finally:
                held, self._held = self._held, None
                for step, event in held:
                    self._number(step, event)
        streams.notify_others(self._claim.turn_id, rests=rests_with(added))
        return added

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
        """Store the events so far; while the database is away, try again together with newer ones."""
        while self._stored < self._seq:
            deadline = asyncio.get_running_loop().time() + FLUSH_EVERY
            while self._seq - self._stored < FLUSH_AT and (left := deadline - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(min(left, FLUSH_EVERY / 5))
            try:
                async with self._writing:
                    await self._flush()
            except LeaseLost:
                logger.info("Turn %s belongs to another runner; this stream ends", self._claim.turn_id)
                return
            except database.AWAY:
                if self._closed:
                    return
                await asyncio.sleep(database.RETRY)

    async def _flush(self) -> None:
        kept, last = list(self._kept), self._seq
        if kept and self._stored < last:
            await database.run(actions.append_events, self._claim, kept)
            streams.notify_others(self._claim.turn_id)
        self._stored = last
