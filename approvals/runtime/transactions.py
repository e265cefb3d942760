"""What the open transaction may do beside its statements: hold a lock by name, and commit without waiting for the disk."""

from __future__ import annotations

from django.db import connection


def lock_name(name: str) -> None:
    """Hold the lock on `name` until this transaction ends, waiting for any other holder. Call it first in a transaction.

    It is for rules that no unique constraint can express and for which no row exists yet. On SQLite there is only one writing
    transaction at a time anyway. PostgreSQL locks a hash of the name: a collision only makes one transaction wait for an
    unrelated one.
    """
    assert connection.in_atomic_block
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def async_commit() -> None:
    """Let the open transaction commit without waiting for the disk flush.

    Only for writes that are repeated or found out again when they are lost: never for decisions, messages, tool results,
    claims or locks. Other transactions see it as usual, and any later commit that does wait flushes it too. If the power
    fails, the whole transaction may be lost when it was committed within the last 0.2 s (`wal_writer_delay`). Only PostgreSQL
    supports this per transaction.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
