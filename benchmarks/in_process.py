"""Measure what a call costs in one process: CPU, statements, and how long it holds the write lock of SQLite.

    .venv/bin/python -m benchmarks.in_process [--rounds 100]

Each call goes through the ASGI application with all its middleware. CPU is that of the process, so what PostgreSQL does is
not in it. BEGIN and COMMIT count as statements where Django sends them itself.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.figures import Table
from benchmarks.load.in_process import Costs
from benchmarks.stage import POSTGRESQL, SQLITE, stage

MEASURE = """
import json
from benchmarks.load.in_process import measure
print(json.dumps(measure({rounds})))
"""


def measured(rounds: int) -> dict[str, Costs]:
    """Return the costs of each call, by database."""
    found: dict[str, Costs] = {}
    for database in (SQLITE, POSTGRESQL):
        with stage(database, webs=0, workers=0, redis=False) as site:
            found[database] = json.loads(
                site.site.run(MEASURE.format(rounds=rounds)).splitlines()[-1]
            )
    return found


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=100)
    found = measured(options.parse_args().rounds)
    table = Table("CPU of a call", "ms", "statements")
    for database, calls in found.items():
        for name, (taken, statements, _) in calls.items():
            table.row(f"{database}, {name}", taken, f"{statements:>10}")
    table = Table("write lock held, until it is on the disk")
    for name, (_, _, held) in found[SQLITE].items():
        if held:
            table.row(f"{SQLITE}, {name}", held)


if __name__ == "__main__":
    main()
