"""The state of one run of a turn: its claim, and the events of its stream, numbered and published at once.

Everything is stored through `commit`, one commit after the other, each with all events and results since the previous one.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from approvals.db import pool
from chats import actions, doorbell
from chats.actions.calling import Written
from chats.actions.locking import Claim, Recorded
from chats.actions.transitions import Transition
from chats.agent import events
from chats.engine import streams
from chats.exceptions import LeaseLost
from chats.queries import Progress

logger = logging.getLogger(__name__)

#: Events are stored within FLUSH_EVERY seconds, or as soon as there are FLUSH_AT new ones. Followers do not wait for that: they
#: read the rows only for events that they have missed.
FLUSH_EVERY = 0.25
FLUSH_AT = 100
#: Other processes get the first event at once, and later ones in batches, one every SEND_EVERY seconds.
SEND_EVERY = 0.015

#: Stores these events, and possibly further ones numbered from this `seq` on.
Commit = Callable[[Claim, Sequence[Recorded], int], Written]


def rests_with(added: Sequence[Recorded]) -> bool:
    """Return whether a turn rests after a commit that added these events: it is suspended, or has ended."""
    return bool(added) and isinstance(added[-1].event, streams.CLOSING)


class Ledger:
    """The claim and the stream of one run of a turn. New events belong to the step with index `step`."""

    def __init__(self, claim: Claim, last_seq: int) -> None:
        self.step = 0
        #: The runner's claim, with its knowledge of the turn.
        self.claim = claim
        #: The toolCallIds whose results the stream reports, and those whose tools this runner has begun.
        self.reported: set[str] = set()
        self.begun: set[str] = set()
        self._seq = self._stored = last_seq
        #: Everything since the last synchronous commit; a database crash may lose later asynchronous ones.
        self._kept: list[Recorded] = []
        #: The transitions of the turn since the last commit.
        self._pending: list[Transition] = []
        #: (step, event) recorded while a commit is running, which may number events of its own.
        self._held: list[tuple[int, events.Event]] | None = None
        #: The events not yet sent to other processes, and the last number known to them to be stored.
        self._unsent: list[streams.Numbered] = []
        self._sent_stored = last_seq
        self._writing = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._rests = asyncio.Event()
        self._closed = False
        streams.begin(claim.turn_id, last_seq)

    @property
    def progress(self) -> Progress:
        """The progress of the turn, with the transitions that are not stored yet."""
        assert self.claim.known is not None
        return self.claim.known.progress

    def apply(self, transition: Transition) -> None:
        """Apply a transition to the turn; the next commit stores it."""
        self._pending.append(transition)
        self.claim = self.claim.after(transition)
        self._flush_later()

    def record(self, event: events.Event) -> None:
        """Number an event and publish it; it is stored a moment later."""
        if self._held is not None:
            self._held.append((self.step, event))
        else:
            self._number(self.step, event)

    def report(self, result: events.ToolSucceeded | events.ToolFailed) -> None:
        """Record the result of a call, unless the stream already reports it."""
        if result.tool_call_id not in self.reported:
            self.reported.add(result.tool_call_id)
            self.record(result)

    def close(self) -> None:
        """End the run. Events that arrive later are dropped: they are in the rows, and their numbers belong to the next run."""
        self._closed = True
        self._stop_timer()

    async def commit(self, work: Commit) -> Written:
        """Have `work` store everything in a synchronous commit, and publish the events that it added."""
        async with self._writing:
            self._held = []
            pending = len(self._pending)
            try:
                written = await pool.run(
                    work, self.claim, list(self._kept), self._seq + 1
                )
                self._take_over(written, pending)
                self._kept = []
                self._stored = written.added[-1].seq if written.added else self._seq
                self._publish(written.added)
                # Nothing is left to store.
                self._stop_timer()
            finally:
                held = self._held
                self._held = None
                for step, event in held:
                    self._number(step, event)
        return written

    def _take_over(self, written: Written, stored: int) -> None:
        """Take over the claim of a commit that has stored the first `stored` of the pending transitions."""
        self.claim = written.claim
        self._pending = self._pending[stored:]
        for transition in self._pending:
            self.claim = self.claim.after(transition)

    def _number(self, step: int, event: events.Event) -> None:
        if self._closed:
            return
        item = Recorded(self._seq + 1, step, event)
        self._kept.append(item)
        self._publish([item])
        self._flush_later()

    def _publish(self, items: Sequence[Recorded] = ()) -> None:
        """Give events to the followers in all processes, with the last stored number."""
        numbered = [(item.seq, item.event) for item in items]
        if items:
            self._seq = items[-1].seq
        streams.publish(self.claim.turn_id, numbered, stored=self._stored)
        if not doorbell.has_workers():
            return
        self._unsent += numbered
        if rests_with(items):
            # No later event could be sent together with these.
            self._rests.set()
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def _send(self) -> None:
        """Send new events to other processes, one message after the other, so that none overtakes another."""
        while self._unsent or self._sent_stored < self._stored:
            sending = self._unsent
            self._unsent = []
            self._sent_stored = self._stored
            await streams.send_to_others(
                self.claim.turn_id, sending, stored=self._stored
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._rests.wait(), SEND_EVERY)

    def _flush_later(self) -> None:
        """Store the new events within FLUSH_EVERY seconds, or at once if there are FLUSH_AT of them."""
        if self._seq - self._stored >= FLUSH_AT:
            self._flush_now()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                FLUSH_EVERY, self._flush_now
            )

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush_now(self) -> None:
        self._stop_timer()
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self.flush())

    async def flush(self) -> None:
        """Store the events and results so far; while the database is away, try again together with newer ones."""
        while True:
            try:
                async with self._writing:
                    if self._stored >= self._seq and not self._pending:
                        return
                    last = self._seq
                    pending = len(self._pending)
                    written = await pool.run(
                        actions.store_progress, self.claim, list(self._kept)
                    )
                    self._take_over(written, pending)
                    self._stored = last
                    self._publish()
            except LeaseLost:
                logger.info(
                    "Turn %s belongs to another runner; this stream ends",
                    self.claim.turn_id,
                )
                return
            except pool.AWAY:
                if self._closed:
                    return
                await asyncio.sleep(pool.RETRY)


RENEW_EVERY = timedelta(seconds=5)


def _host() -> str:
    """Return a name of the process namespace: the host, and the container on it."""
    with suppress(OSError):
        return f"{socket.gethostname()}:{os.stat('/proc/self/ns/pid').st_ino}"
    return socket.gethostname()


def _start_of(pid: int | str) -> str:
    """Return the start time of a process of this host, in ticks since boot; "" if there is none, or if unknown."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


HOST = _host()


@functools.cache
def owner() -> str:
    """Return the name under which this process claims turns. Another may get its number one day, but not with the same start."""
    return f"{HOST}:{os.getpid()}:{_start_of('self')}"


def free_dead_leases() -> None:
    """End the leases of dead processes of this host, so that the sweep need not wait for them."""
    if not owner().endswith(":"):
        for other in actions.lease_owners(f"{HOST}:"):
            pid, _, start = other.removeprefix(f"{HOST}:").partition(":")
            if _start_of(pid) != start:
                actions.end_leases(other)


@dataclass(slots=True)
class _Leases:
    timer: asyncio.TimerHandle | None = None
    renewal: asyncio.Task[None] | None = None
    runs: dict[Ledger, asyncio.Event] = field(default_factory=dict)


_leases: dict[asyncio.AbstractEventLoop, _Leases] = {}


@contextmanager
def renewed(ledger: Ledger, stop: asyncio.Event) -> Iterator[None]:
    """Renew the lease of a run within the block; set `stop` if it is lost, or if the turn was stopped elsewhere."""
    loop = asyncio.get_running_loop()
    leases = _leases.setdefault(loop, _Leases())
    leases.runs[ledger] = stop
    if leases.timer is None:
        _renew_later(loop, leases)
    try:
        yield
    finally:
        del leases.runs[ledger]
        if not leases.runs and leases.timer is not None:
            leases.timer.cancel()
            del _leases[loop]


def _renew_later(loop: asyncio.AbstractEventLoop, leases: _Leases) -> None:
    leases.timer = loop.call_later(
        RENEW_EVERY.total_seconds(), _renew_now, loop, leases
    )


def _renew_now(loop: asyncio.AbstractEventLoop, leases: _Leases) -> None:
    _renew_later(loop, leases)
    if leases.renewal is None or leases.renewal.done():
        leases.renewal = loop.create_task(_renew(leases))


async def _renew(leases: _Leases) -> None:
    runs = dict(leases.runs)
    held, stopped = await pool.retry(
        actions.renew_leases, [ledger.claim for ledger in runs]
    )
    for ledger, stop in runs.items():
        if ledger.claim.turn_id not in held - stopped:
            stop.set()
