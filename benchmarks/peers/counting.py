"""What one cycle does to its database, as PostgreSQL counts it for everybody in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import psycopg

from benchmarks.peers.contenders import Contender
from tests.support.processes.postgres import Cluster

Connection = psycopg.Connection[tuple[object, ...]]

#: What the cluster needs for it.
SETTINGS = {"shared_preload_libraries": "pg_stat_statements"}
#: Statements that the sessions of one database sent, BEGIN and COMMIT among them. The checks of deferred foreign keys are not
#: sent, but pg_stat_statements counts them as if they were, because they run when the transaction ends.
STATEMENTS = b"""
SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
WHERE d.datname = %s AND query NOT LIKE '%% FROM ONLY %% FOR KEY SHARE OF x'
"""
#: Transactions that wrote something.
COMMITS = b"""
SELECT count(*) FROM pg_get_wal_records_info(%s, %s) WHERE resource_manager = 'Transaction' AND record_type = 'COMMIT'
"""


class Counts(NamedTuple):
    """Of one cycle."""

    commits: int
    statements: int


def prepare(cluster: Cluster) -> None:
    """Make counting possible, and leave it off: it costs those most who send most."""
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        for name in (b"pg_stat_statements", b"pg_walinspect"):
            connection.execute(b"CREATE EXTENSION " + name)
        _set(connection, b"pg_stat_statements.track", b"none")


def counted(cluster: Cluster, contender: Contender, cycles: int) -> Counts:
    """Run so many cycles, one after the other, while the other contenders are idle. What it does in the same time while it is
    idle itself, such as a heartbeat, does not count.
    """
    database = contender.url.rpartition("/")[2]
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        _set(connection, b"autovacuum", b"off")
        _set(connection, b"pg_stat_statements.track", b"top")
        seconds = contender.batch(1, cycles)
        busy = _during(connection, database, lambda: contender.batch(1, cycles))
        idle = _during(connection, database, lambda: time.sleep(seconds))
        _set(connection, b"pg_stat_statements.track", b"none")
    return Counts(
        *(
            round((during - besides) / cycles)
            for during, besides in zip(busy, idle, strict=True)
        )
    )


def _during(
    connection: Connection, database: str, work: Callable[[], object]
) -> tuple[int, int]:
    """Return the commits and statements while `work` runs."""
    connection.execute(b"SELECT pg_stat_statements_reset()")
    start = _position(connection)
    work()
    end = _position(connection)
    return int(_value(connection, COMMITS, start, end)), int(
        _value(connection, STATEMENTS, database)
    )


def _position(connection: Connection) -> str:
    """Return up to where the write-ahead log is on the disk, which includes all that has been committed."""
    _value(connection, b"SELECT pg_logical_emit_message(true, 'benchmark', 'position')")
    return _value(connection, b"SELECT pg_current_wal_flush_lsn()")


def _value(connection: Connection, statement: bytes, *values: str) -> str:
    row = connection.execute(statement, values).fetchone()
    assert row is not None
    return str(row[0])


def _set(connection: Connection, name: bytes, value: bytes) -> None:
    connection.execute(b"ALTER SYSTEM SET " + name + b" = " + value)
    connection.execute(b"SELECT pg_reload_conf()")
