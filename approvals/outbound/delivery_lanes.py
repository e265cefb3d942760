"""Deliver over the network on a few threads, so that a slow or dead host delays only its own deliveries.

A lane is a host, or the mail server. It gets few of the threads, and none for a while after it could not be reached. The
state is in memory only; a delivery that is lost with the process is still due in the database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakSet

from approvals.db import pool

logger = logging.getLogger(__name__)

THREADS = 16
THREADS_PER_LANE = 2
#: How long one call starts new deliveries before it returns to its caller.
ROUND_SECONDS = 3.0
FIRST_REST = 1.0
LONGEST_REST = 60.0
#: Maximum number of remembered unreachable lanes; others are tried at once.
MAX_RESTING = 500


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery. `claim` returns whether this process may do it; `work` returns whether the lane was reached."""

    lane: str
    claim: Callable[[], bool]
    work: Callable[[], bool]


#: Returns due jobs, excluding the given lanes.
Source = Callable[[Iterable[str]], list[Job]]


class DeliveryLanes:
    """The threads, and the state of the lanes."""

    def __init__(
        self, *sources: Source, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.sources = sources
        self.clock = clock
        self._changed = threading.Condition()
        self._busy: Counter[str] = Counter()
        self._ended = 0
        self._stopped = False
        _all.add(self)
        #: Lane -> (pause, end of the pause), in seconds of `clock`.
        self._resting: dict[str, tuple[float, float]] = {}

    def deliver_due(self) -> None:
        """Start due deliveries until none is due or ROUND_SECONDS pass. Slow ones continue on their threads."""
        end = time.monotonic() + ROUND_SECONDS
        while time.monotonic() < end:
            # Read before the query: a delivery that ends in between may make room for one that the query excluded.
            ended = self._ended
            if not self._begin_due() and not self._one_ends(ended, 1.0):
                return

    def idle(self, seconds: float) -> bool:
        """Wait until no delivery is running; return False if one still is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, seconds)

    def stop(self) -> None:
        """Stop starting deliveries."""
        with self._changed:
            self._stopped = True

    def _begin_due(self) -> bool:
        begun = False
        for source in self.sources:
            for job in source(self._shut()):
                begun |= self._begin(job)
        return begun

    def _begin(self, job: Job) -> bool:
        with self._changed:
            if (
                self._stopped
                or self._busy.total() >= THREADS
                or self._is_shut(job.lane)
            ):
                return False
            self._busy[job.lane] += 1
        begun = False
        try:
            if job.claim():
                # A daemon thread, so that exit does not wait for the network. An interrupted delivery is due again.
                threading.Thread(
                    target=self._carry,
                    args=(job,),
                    name="pausepoint-delivery",
                    daemon=True,
                ).start()
                begun = True
        finally:
            # Also if the claim failed, or if no thread could be started.
            if not begun:
                self._leave(job.lane, reached=True)
        return begun

    def _carry(self, job: Job) -> None:
        reached = True
        try:
            reached = pool.call_and_close(job.work)
        except Exception:
            if self._stopped:
                # When the process exits, its resources are gone, so any error may happen.
                logger.info(
                    "A delivery on %s was cut off by the end of the process; it is due again",
                    job.lane,
                )
            else:
                logger.exception(
                    "A delivery on %s failed; it will be tried again", job.lane
                )
        finally:
            self._leave(job.lane, reached=reached, carried=True)

    def _leave(self, lane: str, *, reached: bool, carried: bool = False) -> None:
        with self._changed:
            self._ended += carried
            self._busy[lane] -= 1
            if not self._busy[lane]:
                del self._busy[lane]
            if reached:
                self._resting.pop(lane, None)
            elif len(self._resting) < MAX_RESTING or lane in self._resting:
                rest = min(
                    2 * self._resting.get(lane, (FIRST_REST / 2, 0.0))[0], LONGEST_REST
                )
                self._resting[lane] = (rest, self.clock() + rest)
            self._changed.notify_all()

    def _one_ends(self, before: int, seconds: float) -> bool:
        """Wait until more than `before` deliveries have ended; return False if none is running, or none ends in time."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._ended > before or not self._busy, seconds
            )
            return self._ended > before

    def _shut(self) -> list[str]:
        with self._changed:
            return [
                lane for lane in {*self._busy, *self._resting} if self._is_shut(lane)
            ]

    def _is_shut(self, lane: str) -> bool:
        # A lane that failed last time gets one delivery at a time.
        resting = self._resting.get(lane)
        if resting is not None and (resting[1] > self.clock() or self._busy[lane]):
            return True
        return self._busy[lane] >= THREADS_PER_LANE


_all: WeakSet[DeliveryLanes] = WeakSet()


def stop_all(seconds: float) -> None:
    """Stop starting deliveries, and wait a while for the running ones."""
    end = time.monotonic() + seconds
    for lanes in list(_all):
        lanes.stop()
    for lanes in list(_all):
        lanes.idle(max(end - time.monotonic(), 0))
