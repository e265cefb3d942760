"""Measure the audit page over a long audit log: every filter and search, the calls that write to it, and the sizes of its tables.

    .venv/bin/python -m benchmarks.audit_page [--entries 1000000] [--requests 300000] [--rounds 20]

One process handles the pages without HTTP; a time includes that of the database. The first requests have the oldest entries,
which is the worst order for a search for frequent words.
"""

from __future__ import annotations

import argparse
import json
import time

from benchmarks.figures import Table
from benchmarks.growth import LOAD
from benchmarks.growth import MEASURE as MEASURE_CALLS
from benchmarks.load.many_requests import SCRIPT
from benchmarks.stage import POSTGRESQL, SQLITE, Stage, stage

FILL_LOG = "from benchmarks.load.audit_log import fill_audit_log; fill_audit_log({entries}, {begin}, {end})"
#: Entries of one process: a longer one would be stopped.
SLICE = 1_000_000
MEASURE = (
    "import json\n"
    "from benchmarks.load.audit_pages import addresses, measure\n"
    "print(json.dumps(measure(addresses(), {rounds})))"
)
SIZES = "import json; from benchmarks.load.audit_pages import sizes; print(json.dumps(sizes()))"


def begin(found: Stage) -> None:
    """Ask, approve and report once over HTTP: the fill copies these entries."""
    program = found.program()
    asked = program.ask()
    program.approve(asked["id"])
    program.report(asked)


def last_line(found: Stage, script: str) -> object:
    return json.loads(found.site.run(script).splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--entries", type=int, default=1_000_000)
    options.add_argument("--requests", type=int, default=300_000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--calls", type=int, default=100)
    options.add_argument(
        "--databases",
        nargs="+",
        choices=[POSTGRESQL, SQLITE],
        default=[POSTGRESQL, SQLITE],
    )
    given = options.parse_args()
    for database in given.databases:
        with stage(database, workers=0, redis=False) as found:
            begin(found)
            found.site.stop()
            began = time.monotonic()
            found.site.run(SCRIPT.format(number=given.requests))
            for place in range(0, given.entries, SLICE):
                end = min(place + SLICE, given.entries)
                found.site.run(
                    FILL_LOG.format(entries=given.entries, begin=place, end=end)
                )
            print(
                f"\n{database}, {given.entries:,} entries, filled in {time.monotonic() - began:.0f} s",
                flush=True,
            )
            pages = last_line(found, MEASURE.format(rounds=given.rounds))
            table = Table("the audit page", "ms")
            for name, taken in pages.items():  # type: ignore[attr-defined]  # a JSON object
                table.row(name, taken)
            calls = last_line(
                found,
                LOAD
                + MEASURE_CALLS.format(
                    keys=f"{found.key!r}, {found.decider!r}", calls=given.calls
                ),
            )
            for name, (process, other, statements) in calls.items():  # type: ignore[attr-defined]
                print(
                    f"{name}: {process:.2f} ms of CPU, {other:.2f} of the database, {statements:.0f} statements"
                )
            if database == POSTGRESQL:
                for name, (heap, indexes) in last_line(found, SIZES).items():  # type: ignore[attr-defined]
                    print(
                        f"{name}: {heap / 1e6:,.0f} MB, indexes {indexes / 1e6:,.0f} MB"
                    )


if __name__ == "__main__":
    main()
