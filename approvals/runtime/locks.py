"""Locks by name, for rules that no unique constraint can express and for which no row exists yet."""

from __future__ import annotations

from django.db import connection


def lock_name(name: str) -> None:
    """Hold the lock on `name` until this transaction ends, waiting for any other holder. Call it first in a transaction.

    On SQLite there is only one writing transaction at a time anyway. PostgreSQL locks a hash of the name: a collision only
    makes one transaction wait for an unrelated one.
    """
    assert connection.in_atomic_block
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
