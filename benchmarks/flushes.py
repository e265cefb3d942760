"""Measure how often a cycle waits for the disk, as PostgreSQL counts it (`pg_stat_wal`), with the log writer held still.

    .venv/bin/python -m benchmarks.flushes [--cycles 20]

REST: ask, decide, report; and without the report. Chat: message, approved tool, text; and with an idempotent tool before it.
One web process and one worker; deliveries and heartbeats are off.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import psycopg

from benchmarks.figures import Table
from benchmarks.load.flushes import completed, counted, flushing_cluster
from benchmarks.load.program import Program
from tests.support.processes.postgres import Cluster
from tests.support.processes.server import until


def over_rest(cluster: Cluster, cycles: int, *, report: bool) -> float:
    with (
        tempfile.TemporaryDirectory() as folder,
        counted(cluster, Path(folder), f"rest{report:d}") as counting,
    ):
        installed, key, decider, found = counting
        program = Program(installed.serve(), key, decider)
        for _ in range(cycles):
            asked = program.ask()
            program.approve(asked["id"])
            if report:
                program.report(asked)
    return found[0] / cycles


def in_a_chat(cluster: Cluster, cycles: int, text: str) -> float:
    name = text.replace(" ", "_")
    with (
        tempfile.TemporaryDirectory() as folder,
        counted(cluster, Path(folder), name) as counting,
    ):
        installed, key, _, found = counting
        program = Program(installed.serve(), key)
        with psycopg.connect(cluster.url(name), autocommit=True) as connection:
            installed.start_program("-m", "tests.proofs.team.quiet_worker")
            for number in range(cycles):
                program.approve(program.pause(f"chat-{number}", text))
                until(
                    lambda number=number: completed(connection) == number + 1,
                    "the turn has ended",
                )  # type: ignore[misc]
    return found[0] / cycles


def measured(cycles: int) -> dict[str, float]:
    """Return the flushes of each kind of cycle."""
    with flushing_cluster() as cluster:
        return {
            "REST: ask, decide": over_rest(cluster, cycles, report=False),
            "REST: ask, decide, report": over_rest(cluster, cycles, report=True),
            "chat: approved tool, text": in_a_chat(cluster, cycles, "book it"),
            "chat: idempotent tool, approved tool, text": in_a_chat(
                cluster, cycles, "look up and book it"
            ),
        }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cycles", type=int, default=20)
    table = Table("waits for the disk in a cycle", "flushes")
    for name, flushes in measured(options.parse_args().cycles).items():
        table.row(name, [flushes])


if __name__ == "__main__":
    main()
