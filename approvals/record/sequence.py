"""Gaps in the ids of the audit log: whether a missing entry can still appear.

PostgreSQL assigns an id before the transaction commits, so a later entry may become visible first. Whoever inserts takes a
lock on the table before the id is assigned, and releases it after the commit is visible (PostgreSQL's manual, "Table-Level
Locks"). So a missing entry can no longer appear once all who held that lock when the gap was seen have ended. Transactions
of other tables and other databases do not count, however long they run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Set
from dataclasses import dataclass, field

from django.db import connection

#: The last entry, and who may be inserting others: the statement sees no entry of anyone who ends before `pg_locks` is read.
LOOK = """
    SELECT (SELECT COALESCE(max(id), 0) FROM approvals_auditentry),
           (SELECT COALESCE(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
            WHERE relation = 'approvals_auditentry'::regclass AND mode = 'RowExclusiveLock'
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
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
#: When the oldest running transaction began, less a minute: the clocks that give entries their time may differ. Autovacuum
#: runs for hours on a large table, and writes no entry.
AT_WORK = """(
    SELECT COALESCE(min(xact_start), now()) - interval '1 minute' FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
)"""


@dataclass
class Horizon:
    """What this process knows: no entry can appear up to `final`, and none up to `next` once all in `writers` have ended."""

    final: int = 0
    next: int = 0
    writers: Set[str] = frozenset()
    #: Held from before the look to its end, because looks must be taken in by the order of their time.
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, *, last: int, writers: Set[str]) -> int:
        """Return the entry below which none can appear anymore, given the last entry and the transactions that may insert."""
        if not self.writers & writers:
            self.final = max(self.final, self.next)
            # A transaction that writes now may still fill a gap below `last`; one that begins later cannot.
            self.next, self.writers = last, writers
            if not writers:
                self.final = max(self.final, last)
        return self.final


_horizon = Horizon()


def settled() -> int:
    """Return the entry below which none can appear anymore. What was read before this call may lack one that appeared since.

    On SQLite, which has one writer at a time, none ever can.
    """
    if connection.vendor != "postgresql":
        return sys.maxsize
    with _horizon.lock, connection.cursor() as cursor:
        cursor.execute(LOOK)
        last, writers = cursor.fetchone()
        return _horizon.look(last=last, writers=frozenset(writers))


def last_settled() -> int | None:
    """Return the last entry below which none can appear anymore; None if that is true of every entry (SQLite).

    A gap among entries older than LONGEST can no longer be filled.
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
        rows = cursor.fetchall()
    # The gaps were read first, so an entry that appears meanwhile only makes a gap look open.
    for last, follower in rows:
        if follower is not None and follower > settled():
            return int(last), False
    return int(rows[-1][0]), True
