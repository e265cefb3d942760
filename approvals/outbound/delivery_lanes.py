"""What goes over the network, on a few threads of its own: what is slow or dead there holds up itself and nothing else.

A lane is what shares one fate, such as a host. It gets few of the threads, and none for a while after it could not be
reached. All of this is in memory: what is lost with the process is still due in the database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakSet

from approvals.runtime import database

logger = logging.getLogger(__name__)

THREADS = 16
THREADS_PER_LANE = 2
#: How long one call goes on beginning new work, so that its caller is asked now and then whether to go on at all.
ROUND_SECONDS = 3.0
FIRST_REST, LONGEST_REST = 1.0, 60.0
#: More lanes than this are not remembered: they are tried as if nothing were known.
MAX_RESTING = 500


@dataclass(frozen=True, slots=True)
class Job:
    """One delivery. `claim` takes it for this process, or says that another has it; `work` is False for a dead lane."""

    lane: str
    claim: Callable[[], bool]
    work: Callable[[], bool]


#: Gives what is due, none of it on the lanes that it is told.
Source = Callable[[Iterable[str]], list[Job]]


class Couriers:
    """The threads, and what is known of the lanes."""

    def __init__(self, *sources: Source, clock: Callable[[], float] = time.monotonic) -> None:
        self.sources, self.clock = sources, clock
        self._changed = threading.Condition()
        self._busy: Counter[str] = Counter()
        self._ended = 0
        self._stopped = False
        _all.add(self)
        #: Lane -> (how long it rests, until when); seconds of `clock`.
        self._resting: dict[str, tuple[float, float]] = {}

    def deliver_due(self) -> None:
        """Begin what is due; returns when nothing more is, or after ROUND_SECONDS. What is slow goes on by itself."""
        end = time.monotonic() + ROUND_SECONDS
        while time.monotonic() < end:
            # Counted before the look: what ends meanwhile may have made room for what the look did not find.
            ended = self._ended
            if not self._begin_due() and not self._one_ends(ended, 1.0):
                return

    def idle(self, seconds: float) -> bool:
        """Wait until nothing is under way; False if something still is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, seconds)

    def stop(self) -> None:
        """Begin nothing more."""
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
            if self._stopped or self._busy.total() >= THREADS or self._is_shut(job.lane):
                return False
            self._busy[job.lane] += 1
        try:
            taken = job.claim()
        except BaseException:
            self._leave(job.lane, reached=True)
            raise
        if not taken:
            self._leave(job.lane, reached=True)
            return False
        # A daemon: an exit does not wait for the network. What is cut off is due again, with the same id.
        threading.Thread(target=self._carry, args=(job,), name="pausepoint-courier", daemon=True).start()
        return True

    def _carry(self, job: Job) -> None:
        reached = True
        try:
            reached = database.unit(job.work)
        except Exception:
            if self._stopped:
                # Nothing that a process needs is there until its very end.
                logger.info("A delivery on %s was cut off by the end of the process; it is due again", job.lane)
            else:
                logger.exception("A delivery on %s failed; it will be tried again", job.lane)
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
                rest = min(2 * self._resting.get(lane, (FIRST_REST / 2, 0.0))[0], LONGEST_REST)
                self._resting[lane] = (rest, self.clock() + rest)
            self._changed.notify_all()

    def _one_ends(self, before: int, seconds: float) -> bool:
        """Wait until more than `before` deliveries have ended; False if none is under way, or none ends in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended > before or not self._busy, seconds)
            return self._ended > before

    def _shut(self) -> list[str]:
        with self._changed:
            return [lane for lane in {*self._busy, *self._resting} if self._is_shut(lane)]

    def _is_shut(self, lane: str) -> bool:
        # One at a time to a lane that was not reached last time, until it is.
        resting = self._resting.get(lane)
        if resting is not None and (resting[1] > self.clock() or self._busy[lane]):
            return True
        return self._busy[lane] >= THREADS_PER_LANE


_all: WeakSet[Couriers] = WeakSet()


def stop_all(seconds: float) -> None:
    """This process ends: begin no more deliveries, and let those under way end for a while."""
    end = time.monotonic() + seconds
    for couriers in list(_all):
        couriers.stop()
    for couriers in list(_all):
        couriers.idle(max(end - time.monotonic(), 0))
