"""Measure what suspended turns use in the processes and in the database.

    .venv/bin/python -m benchmarks.memory_per_waiting_turn [--turns 5000]      (--turns 100000 is the full size)

One turn really pauses and is copied in bulk, with its step, call, request, checkpoint and stream events. Memory is the
process' resident memory after a few sweeps and pages; CPU is measured while nothing else is asked of the installation.
"""

from __future__ import annotations

import argparse
import time

import psycopg

from benchmarks.load.costs import connections, cpu, memory, threads
from benchmarks.load.crowds import SCRIPT
from benchmarks.stage import Stage, stage

#: Turns that one process copies, so that it takes a few minutes at most.
FILL = 10_000


def held(found: Stage, seconds: float) -> str:
    """Return what the processes use: memory, threads, idle CPU; and the connections of both."""
    pids = [("web", found.webs[0]), ("worker", found.workers[0])]
    before = {name: cpu(pid) for name, pid in pids}
    time.sleep(seconds)
    cells = []
    for name, pid in pids:
        share = (cpu(pid) - before[name]) / seconds * 100
        cells.append(
            f"{name} {memory(pid) / 1024:.1f} MiB, {threads(pid)} threads, {share:.2f} % of a core"
        )
    return "; ".join([*cells, f"{connections(found.url)} connections"])


def size(found: Stage) -> int:
    with psycopg.connect(found.url) as connection:
        row = connection.execute(
            b"SELECT pg_database_size(current_database())"
        ).fetchone()
    assert row is not None
    return int(row[0])


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--turns", type=int, default=5_000)
    options.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="for which the idle processes are observed",
    )
    given = options.parse_args()
    with stage() as found:
        program = found.program()
        program.pause("the-first")
        bytes_before = size(found)
        print(f"{'1 waits':<24}{held(found, given.seconds)}", flush=True)
        for begun in range(0, given.turns, FILL):
            found.site.run(
                SCRIPT.format(number=min(FILL, given.turns - begun), with_record=True)
            )
        print(
            f"{f'{given.turns + 1:,} wait':<24}{held(found, given.seconds)}", flush=True
        )
        each = (size(found) - bytes_before) / given.turns
        print(
            f"{'in the database':<24}{each / 1024:.1f} KiB for each, indexes included"
        )
        request = program.pause("one-more")
        began = time.monotonic()
        program.approve(request)
        print(
            f"{'a decision among them':<24}{(time.monotonic() - began) * 1000:.1f} ms"
        )


if __name__ == "__main__":
    main()
