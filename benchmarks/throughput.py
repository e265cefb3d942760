"""Measure how many requests can be made and decided per second over HTTP.

    .venv/bin/python -m benchmarks.throughput [--requests 100] [--clients 8] [--webs 1 2]

Each client keeps its connection. Two web processes are more than one only where there are cores for them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.figures import Table
from benchmarks.load.program import Program
from benchmarks.stage import POSTGRESQL, SQLITE, Stage, stage


def timed(
    found: Stage,
    clients: int,
    work: Callable[[Program, Any], Any],
    items: Sequence[Any],
) -> Any:
    """Return the result of `work` for each item, the ms of each, and the items per second."""

    def some(number: int) -> list[tuple[Any, float]]:
        program, done = found.program(number), []
        for item in items[number::clients]:
            began = time.monotonic()
            given = work(program, item)
            done.append((given, (time.monotonic() - began) * 1000))
        program.close()
        return done

    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        every = [one for done in pool.map(some, range(clients)) for one in done]
    rate = len(every) / (time.monotonic() - began)
    return [given for given, _ in every], [taken for _, taken in every], rate


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--requests", type=int, default=100)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument(
        "--webs",
        type=int,
        nargs="+",
        default=[1, 2],
        help="web processes, on PostgreSQL",
    )
    given = options.parse_args()
    table = Table("one call", "ms", "per second")
    for database, webs in [
        (SQLITE, 1),
        *((POSTGRESQL, number) for number in given.webs),
    ]:
        with stage(database, webs=webs, workers=1) as found:
            timed(found, 2, lambda program, _: program.ask(), range(4))
            asked, taken, rate = timed(
                found,
                given.clients,
                lambda program, _: program.ask(),
                range(given.requests),
            )
            table.row(f"{database}, {webs} web, create", taken, f"{rate:.1f}")
            _, taken, rate = timed(
                found,
                given.clients,
                lambda program, one: program.approve(one["id"]),
                asked,
            )
            table.row(f"{database}, {webs} web, decide", taken, f"{rate:.1f}")


if __name__ == "__main__":
    main()
