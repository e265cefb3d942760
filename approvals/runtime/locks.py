"""One at a time, by name: for what no unique constraint can say and no row is there yet to lock."""

from __future__ import annotations

from django.db import connection


def hold(name: str) -> None:
    """Wait until no other transaction holds this name, and hold it until this one ends; call it first in a transaction.

    On SQLite a transaction that writes is alone anyway. Two names may be the same to PostgreSQL, and then one waits in vain.
    """
    assert connection.in_atomic_block
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
