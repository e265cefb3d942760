"""How often an installation waits for the disk: counted by PostgreSQL itself, on a cluster of its own that really flushes.

The server's log writer is held still meanwhile: it flushes by the clock, and nobody waits for it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from benchmarks.load.program import make_key
from tests.proofs.team.agents import AGENTS, HANDLER
from tests.support.processes.deployed import Site, new_cluster, site
from tests.support.processes.postgres import Cluster
from tests.support.processes.server import until


@contextmanager
def flushing_cluster() -> Iterator[Cluster]:
    """A PostgreSQL that waits for the disk and does nothing on its own."""
    found = new_cluster()
    try:
        found.start(
            fsync="on",
            autovacuum="off",
            checkpoint_timeout="1h",
            max_wal_size="4GB",
            wal_writer_delay="10s",
        )
        yield found
    finally:
        found.remove()


def value(cluster: Cluster, sql: str) -> int:
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return int(row[0])


def flushes(cluster: Cluster) -> int:
    """How often the log was flushed so far; a backend reports its share when it ends, so all others have to have ended."""
    others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    until(lambda: not value(cluster, others), "all connections are closed")
    if value(cluster, "SELECT current_setting('server_version_num')::int") < 180000:
        return value(cluster, "SELECT wal_sync FROM pg_stat_wal")
    return value(cluster, "SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'")


@contextmanager
def log_writer_held(cluster: Cluster) -> Iterator[None]:
    pid = value(
        cluster, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    )
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        # It is gone if the server was stopped meanwhile.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def counted(
    cluster: Cluster, logs: Path, name: str
) -> Iterator[tuple[Site, str, str, list[int]]]:
    """A site with people, the keys of two of them, and an app that listens; the list gets the flushes while the block ran."""
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    settings = {
        "DATABASE_URL": cluster.url(name),
        "HITL_AGENTS": AGENTS,
        "HITL_EVENT_HANDLERS": HANDLER,
    }
    found: list[int] = []
    with site(logs, **settings) as installed:
        installed.set_up()
        key, decider = make_key(installed), make_key(installed, "admin")
        before = flushes(cluster)
        with log_writer_held(cluster):
            yield installed, key, decider, found
            installed.stop()
            found.append(flushes(cluster) - before)


def completed(connection: psycopg.Connection[tuple[int]]) -> int:
    """How many turns have ended."""
    row = connection.execute(
        b"SELECT count(*) FROM chats_turn WHERE state = 'completed'"
    ).fetchone()
    assert row is not None
    return row[0]
