"""Commit without waiting for the disk: only for writes that are repeated or found out again when they are lost.

Only PostgreSQL supports this per transaction. Never use it for decisions, messages, tool results, leases or locks.
"""

from __future__ import annotations

from django.db import connection


def async_commit() -> None:
    """Let the open transaction commit without waiting for the disk flush.

    Other transactions see it as usual, and any later commit that does wait flushes it too. If the power fails, the whole
    transaction may be lost when it was committed within the last 0.2 s (`wal_writer_delay`).
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
