"""What may be lost with the database server's power, because it is found out again anyway: its commit waits for no disk.

Only PostgreSQL can say so per transaction. Never for what people said, what a tool did, or who may write next.
"""

from __future__ import annotations

from django.db import connection


def found_again() -> None:
    """Let the commit of the open transaction not wait for the disk.

    It is seen by others as ever, and any later commit that waits carries it along: the log is one. What may be lost is the
    last moment before a power cut (`wal_writer_delay`, 0.2 s), and it is lost whole.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
