"""The event stream of one run of a turn: numbered, published at once, and stored in batches and with every commit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from approvals.runtime import database
from chats import actions
from chats.actions.writes import Claim, Recorded
from chats.agent import events
from chats.engine import streams
from chats.exceptions import LeaseLost

logger = logging.getLogger(__name__)

#: Events are stored after so many seconds, or as soon as there are so many. Followers do not wait for that: the rows are for
#: those who have missed something.
FLUSH_EVERY = 0.25
FLUSH_AT = 100
#: Other processes get an event at once, and while more come, those of so many seconds together.
SEND_EVERY = 0.015

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
        #: What other processes have not got yet, and up to which number they know it to be stored.
        self._unsent: list[streams.Numbered] = []
        self._told_stored = last_seq
        self._writing = asyncio.Lock()
        self._timer: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._rests = asyncio.Event()
        self._closed = False
        streams.begin(claim.turn_id)

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
        """Have `work` store everything in a synchronous commit, publish the events that it added, and return them."""
        async with self._writing:
            self._held = []
            try:
                added = await database.run(work, list(self._kept), self._seq + 1) or []
                self._kept = []
                self._stored = added[-1].seq if added else self._seq
                self._publish(added)
                if self._timer is not None:
                    # Nothing is left to store.
                    self._timer.cancel()
                    self._timer = None
            finally:
                held, self._held = self._held, None
                for step, event in held:
                    self._number(step, event)
        return added

    def _number(self, step: int, event: events.Event) -> None:
        if self._closed:
            return
        item = Recorded(self._seq + 1, step, event)
        self._kept.append(item)
        self._publish([item])
        if self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._flush_soon())

    def _publish(self, items: Sequence[Recorded] = ()) -> None:
        """Give events to the followers in all processes, and say how far they are stored."""
        numbered = [(item.seq, item.event) for item in items]
        if items:
            self._seq = items[-1].seq
        streams.publish(self._claim.turn_id, numbered, stored=self._stored)
        self._unsent += numbered
        if rests_with(items):
            # Nothing comes after it that could be sent together with it.
            self._rests.set()
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        """Send what other processes lack, one message after the other, so that none overtakes another."""
        while self._unsent or self._told_stored < self._stored:
            sending, self._unsent, self._told_stored = self._unsent, [], self._stored
            await streams.send_to_others(self._claim.turn_id, sending, stored=self._stored)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._rests.wait(), SEND_EVERY)

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
        self._stored = last
        self._publish()
