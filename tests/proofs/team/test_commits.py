"""How often a cycle waits for the disk: counted by PostgreSQL itself, on a cluster of its own that really flushes.

The server's log writer is held still meanwhile: it flushes by the clock, and nobody waits for it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.proofs.team.agents import AGENTS, HANDLER
from tests.support.load.program import Program, make_key
from tests.support.processes.deployed import Site, new_cluster, site
from tests.support.processes.postgres import Cluster
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

CYCLES = 30
CHATS = 10
#: What one cycle may cost; "How it scales" says which commits these are.
REST, NATIVE = 3, 8

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL that waits for the disk and does nothing on its own."""
    found = new_cluster()
    try:
        found.start(fsync="on", autovacuum="off", checkpoint_timeout="1h", max_wal_size="4GB", wal_writer_delay="10s")
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
    pid = value(cluster, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def counted(cluster: Cluster, logs: Path, name: str) -> Iterator[tuple[Site, str, str, list[int]]]:
    """A site with people, the keys of two of them, and an app that listens; the list gets the flushes while the block ran."""
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    settings = {"DATABASE_URL": cluster.url(name), "HITL_AGENTS": AGENTS, "HITL_EVENT_HANDLERS": HANDLER}
    found: list[int] = []
    with site(logs, **settings) as installed:
        installed.manage("migrate", "--no-input")
        key, decider = make_key(installed), make_key(installed, "admin")
        before = flushes(cluster)
        with log_writer_held(cluster):
            yield installed, key, decider, found
            installed.stop()
            found.append(flushes(cluster) - before)


def told(cluster: Cluster, name: str) -> list[tuple[str, int]]:
    """What stands in the outbox, by name."""
    with psycopg.connect(cluster.url(name)) as connection:
        return connection.execute(
            b"SELECT name, count(*) FROM approvals_outboxevent GROUP BY name ORDER BY name"
        ).fetchall()


def test_a_request_over_rest_waits_for_the_disk_three_times_from_its_asking_to_its_result(cluster, tmp_path):
    with counted(cluster, tmp_path, "rest") as (installed, key, decider, found):
        program = Program(installed.serve(), key, decider)
        for _ in range(CYCLES):
            asked = program.ask()
            program.approve(asked["id"])
            program.report(asked)
    assert found[0] <= REST * CYCLES
    assert told(cluster, "rest") == [
        ("request.created", CYCLES),
        ("request.decided", CYCLES),
        ("tool.result", CYCLES),
    ]


def test_a_chat_waits_for_the_disk_eight_times_at_most_from_its_message_to_its_end(cluster, tmp_path):
    with counted(cluster, tmp_path, "native") as (installed, key, _, found):
        program = Program(installed.serve(), key)
        with psycopg.connect(cluster.url("native"), autocommit=True) as connection:
            worker = installed.start_program(sys.executable, "-m", "tests.proofs.team.quiet_worker")
            for number in range(CHATS):
                program.approve(program.pause(f"chat-{number}"))
                until(lambda number=number: completed(connection) == number + 1, "the turn has ended")
            assert worker.poll() is None
    assert found[0] <= NATIVE * CHATS
    assert told(cluster, "native") == [
        ("request.created", CHATS),
        ("request.decided", CHATS),
        ("tool.result", CHATS),
        ("turn.completed", CHATS),
        ("turn.suspended", CHATS),
    ]
    assert checkpoints(cluster) == 2 * CHATS


def completed(connection: psycopg.Connection[tuple[int]]) -> int:
    row = connection.execute(b"SELECT count(*) FROM chats_turn WHERE state = 'completed'").fetchone()
    assert row is not None
    return row[0]


def checkpoints(cluster: Cluster) -> int:
    with psycopg.connect(cluster.url("native")) as connection:
        row = connection.execute(b"SELECT count(*) FROM chats_turncheckpoint").fetchone()
    assert row is not None
    return int(row[0])
