"""How often a cycle waits for the disk."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.load.flushes import completed, counted, flushing_cluster
from benchmarks.load.program import Program
from tests.support.processes.postgres import Cluster
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

CYCLES = 30
CHATS = 10
#: The cost limit of one cycle; "How it scales" lists these commits.
REST, NATIVE = 3, 8

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with flushing_cluster() as found:
        yield found


def told(cluster: Cluster, name: str) -> list[tuple[str, int]]:
    """Return the number of outbox rows by name."""
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
            worker = installed.start_program("-m", "tests.proofs.team.quiet_worker")
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


def checkpoints(cluster: Cluster) -> int:
    with psycopg.connect(cluster.url("native")) as connection:
        row = connection.execute(b"SELECT count(*) FROM chats_turncheckpoint").fetchone()
    assert row is not None
    return int(row[0])
