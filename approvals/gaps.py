"""Missing numbers in the record: whether what was to stand there can still come.

PostgreSQL gives an entry its number before its transaction commits, so that a later one may be seen first. What is missing
is missing for good once every transaction that was at work when it was missed has ended (`pg_snapshot_xmin` has passed
what `pg_snapshot_xmax` was then: PostgreSQL's manual, "Transaction ID and Snapshot Information Functions").
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from django.db import connection

LOOK = """
    SELECT pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint,
           (SELECT COALESCE(max(id), 0) FROM approvals_auditentry)
    FROM pg_current_snapshot() AS now
"""


@dataclass
class Horizon:
    """What this process knows: up to `final` nothing will come any more, nor up to `next` once `until` has ended."""

    final: int = 0
    next: int = 0
    until: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def passed(self, entry: int, *, oldest: int, coming: int, last: int) -> bool:
        """Whether nothing can come below `entry` any more.

        `oldest` is the oldest transaction at work, `coming` the number of the next one to begin, `last` the last entry.
        """
        with self.lock:
            if oldest >= self.until:
                self.final = max(self.final, self.next)
                # What is at work now may still fill what is missing below `last`; what begins later may not.
                self.next, self.until = last, coming
                if oldest >= coming:
                    self.final = max(self.final, last)
            return entry <= self.final


_horizon = Horizon()


def none_can_come_below(entry: int) -> bool:
    """Whether all that will ever stand before this entry can be seen. On SQLite always: it writes one after another."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute(LOOK)
        oldest, coming, last = cursor.fetchone()
    return _horizon.passed(entry, oldest=oldest, coming=coming, last=last)
