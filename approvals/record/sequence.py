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

#: Of the entries since a moment, and the one before them: the last before each that is missing, with the one behind it;
#: and the last of all.
RECENT = """
    WITH moment AS (SELECT {since} AS since), entries AS (
        SELECT COALESCE((SELECT max(id) FROM approvals_auditentry, moment WHERE at < since), 0) AS id
        UNION SELECT id FROM approvals_auditentry, moment WHERE at >= since
    )
    SELECT id, follower FROM (SELECT id, lead(id) OVER (ORDER BY id) AS follower FROM entries) AS pairs
    WHERE follower IS NULL OR follower > id + 1 ORDER BY id
"""
#: No transaction that writes an entry is at work for longer.
LONGEST = "now() - interval '10 minutes'"
#: When the oldest transaction at work began. Who wrote an entry said when, by a clock that may be wrong by a minute.
AT_WORK = """(
    SELECT COALESCE(min(xact_start), now()) - interval '1 minute' FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
)"""


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


def last_settled() -> int | None:
    """The last entry below which nothing can come any more; None where that is so of every entry (SQLite).

    What is missing among entries older than LONGEST is missing for good.
    """
    if connection.vendor != "postgresql":
        return None
    return _before_the_first_gap(LONGEST)[0]


def first_open() -> int | None:
    """The first missing number that an entry may still get; None if there is none."""
    if connection.vendor != "postgresql":
        return None
    # A number that was drawn was drawn by a transaction at work, and what came behind it has come since that began.
    before, is_last = _before_the_first_gap(AT_WORK)
    return None if is_last else before + 1


def _before_the_first_gap(since: str) -> tuple[int, bool]:
    """Of the entries since a moment (SQL) the one before the first gap that may still be filled; whether it is the last."""
    with connection.cursor() as cursor:
        cursor.execute(RECENT.format(since=since))
        found = cursor.fetchall()
    # Looked for first: what comes in between two looks is not missing in the second.
    for last, follower in found:
        if follower is not None and not none_can_come_below(follower):
            return int(last), False
    return int(found[-1][0]), True
