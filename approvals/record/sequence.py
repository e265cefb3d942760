"""Gaps in the ids of the audit log: whether a missing entry can still appear.

PostgreSQL assigns an id before the transaction commits, so a later entry may become visible first. A missing entry cannot
appear any more once every transaction that ran when the gap was seen has ended: `pg_snapshot_xmin` has then passed the
`pg_snapshot_xmax` of that moment (PostgreSQL's manual, "Transaction ID and Snapshot Information Functions").
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

#: Of the entries since a moment and the one before them: the entry before each gap, with the entry after it; and the last
#: of all.
RECENT = """
    WITH moment AS (SELECT {since} AS since), entries AS (
        SELECT COALESCE((SELECT max(id) FROM approvals_auditentry, moment WHERE at < since), 0) AS id
        UNION SELECT id FROM approvals_auditentry, moment WHERE at >= since
    )
    SELECT id, follower FROM (SELECT id, lead(id) OVER (ORDER BY id) AS follower FROM entries) AS pairs
    WHERE follower IS NULL OR follower > id + 1 ORDER BY id
"""
#: No transaction that writes an entry runs for longer.
LONGEST = "now() - interval '10 minutes'"
#: When the oldest running transaction began, less a minute: the clocks that give entries their time may differ.
AT_WORK = """(
    SELECT COALESCE(min(xact_start), now()) - interval '1 minute' FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
)"""


@dataclass
class Horizon:
    """What this process knows: no entry can appear up to `final`, and none up to `next` once `until` has ended."""

    final: int = 0
    next: int = 0
    until: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def passed(self, entry: int, *, oldest: int, coming: int, last: int) -> bool:
        """Return whether no entry can appear below `entry` any more.

        `oldest` is the oldest running transaction, `coming` the number of the next one to begin, `last` the last entry.
        """
        with self.lock:
            if oldest >= self.until:
                self.final = max(self.final, self.next)
                # A transaction that runs now may still fill a gap below `last`; one that begins later cannot.
                self.next, self.until = last, coming
                if oldest >= coming:
                    self.final = max(self.final, last)
            return entry <= self.final


_horizon = Horizon()


def none_can_come_below(entry: int) -> bool:
    """Return whether no entry can appear below this one; always true on SQLite, which has one writer at a time."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute(LOOK)
        oldest, coming, last = cursor.fetchone()
    return _horizon.passed(entry, oldest=oldest, coming=coming, last=last)


def last_settled() -> int | None:
    """Return the last entry below which none can appear any more; None if that is true of every entry (SQLite).

    A gap among entries older than LONGEST cannot be filled any more.
    """
    if connection.vendor != "postgresql":
        return None
    return _before_the_first_gap(LONGEST)[0]


def first_open() -> int | None:
    """Return the first missing id that an entry may still get; None if there is none."""
    if connection.vendor != "postgresql":
        return None
    # A missing id belongs to a running transaction, and the ids after it were assigned since that began.
    before, is_last = _before_the_first_gap(AT_WORK)
    return None if is_last else before + 1


def _before_the_first_gap(since: str) -> tuple[int, bool]:
    """Return the entry before the first gap since a moment (SQL) that may still be filled, and whether it is the last entry."""
    with connection.cursor() as cursor:
        cursor.execute(RECENT.format(since=since))
        found = cursor.fetchall()
    # The gaps were read first, so an entry that appears meanwhile only makes a gap look open.
    for last, follower in found:
        if follower is not None and not none_can_come_below(follower):
            return int(last), False
    return int(found[-1][0]), True
