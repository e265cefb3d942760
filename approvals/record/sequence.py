"""Gaps in the ids of the audit log: whether a missing entry can still appear.

PostgreSQL assigns an id before the transaction commits, so a later entry may become visible first. Each inserting transaction
locks the table before its id is assigned, and releases the lock after its commit is visible (PostgreSQL manual, "Table-Level
Locks"). So a missing entry can no longer appear once all transactions that held the lock when the gap was seen have ended.
Transactions on other tables and databases do not count, however long they run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Set
from dataclasses import dataclass, field

from django.db import connection

#: The last entry, and the transactions that may be inserting: the snapshot is taken before `pg_locks` is read.
LOOK = """
    SELECT (SELECT COALESCE(max(id), 0) FROM approvals_auditentry),
           (SELECT COALESCE(array_agg(DISTINCT virtualtransaction), '{}') FROM pg_locks
            WHERE relation = 'approvals_auditentry'::regclass AND mode = 'RowExclusiveLock'
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""

#: For the entries since a moment and the one before them: the entries before and after each gap, and the last entry.
RECENT = """
    WITH moment AS (SELECT {since} AS since), entries AS (
        SELECT COALESCE((SELECT max(id) FROM approvals_auditentry, moment WHERE at < since), 0) AS id
        UNION SELECT id FROM approvals_auditentry, moment WHERE at >= since
    )
    SELECT id, follower FROM (SELECT id, lead(id) OVER (ORDER BY id) AS follower FROM entries) AS pairs
    WHERE follower IS NULL OR follower > id + 1 ORDER BY id
"""
#: No transaction that writes an entry runs longer than this.
LONGEST = "now() - interval '10 minutes'"
#: The start of the oldest running transaction, less a minute, because the clocks that time entries may differ. Autovacuum is
#: excluded: it runs for hours on a large table and writes no entry.
AT_WORK = """(
    SELECT COALESCE(min(xact_start), now()) - interval '1 minute' FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
)"""


@dataclass
class Horizon:
    """The state of this process: no entry can appear up to `final`, nor up to `next` once all in `writers` have ended."""

    final: int = 0
    next: int = 0
    writers: Set[str] = frozenset()
    #: Held during a whole look, because results must be applied in order.
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, *, last: int, writers: Set[str]) -> int:
        """Return the entry below which none can still appear, given the last entry and the transactions that may insert."""
        if not self.writers & writers:
            self.final = max(self.final, self.next)
            # A transaction that is writing now may still fill a gap below `last`; a later one cannot.
            self.next = last
            self.writers = writers
            if not writers:
                self.final = max(self.final, last)
        return self.final


_horizon = Horizon()


def settled() -> int:
    """Return the entry below which none can still appear. Rows read before this call may lack some that appeared since.

    On SQLite, with one writer at a time, there are no such gaps.
    """
    if connection.vendor != "postgresql":
        return sys.maxsize
    with _horizon.lock, connection.cursor() as cursor:
        cursor.execute(LOOK)
        last, writers = cursor.fetchone()
        return _horizon.look(last=last, writers=frozenset(writers))


def last_settled() -> int | None:
    """Return the last entry below which none can still appear; None if that holds for every entry (SQLite).

    Gaps older than LONGEST can no longer be filled.
    """
    if connection.vendor != "postgresql":
        return None
    return _before_the_first_gap(LONGEST)[0]


def first_open() -> int | None:
    """Return the first missing id that may still appear; None if there is none."""
    if connection.vendor != "postgresql":
        return None
    # A missing id belongs to a running transaction, and the ids after it were assigned since that began.
    before, is_last = _before_the_first_gap(AT_WORK)
    return None if is_last else before + 1


def _before_the_first_gap(since: str) -> tuple[int, bool]:
    """Return the entry before the first open gap since a moment (SQL), and whether it is the last entry."""
    with connection.cursor() as cursor:
        cursor.execute(RECENT.format(since=since))
        rows = cursor.fetchall()
    # The gaps were read first, so an entry that appears meanwhile only makes a gap look open.
    for last, follower in rows:
        if follower is not None and follower > settled():
            return int(last), False
    return int(rows[-1][0]), True
