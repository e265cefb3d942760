"""Measure whether a call costs more on a large desk: ask, read and decide, with few and many rows, permissions and keys.

    .venv/bin/python -m benchmarks.growth [--rows 100000] [--calls 100]

One process handles the calls without HTTP, so that its statements are counted and no client uses its CPU. The ratio is that
of the CPU, the database's included, to the same call on a small desk.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.load.large_desk import Figures
from benchmarks.load.many_requests import SCRIPT
from benchmarks.stage import POSTGRESQL, SQLITE, Stage, stage

PERMISSIONS, KEYS = 1_000, 10_000
LOAD = "from benchmarks.load.large_desk import add_keys, add_permissions, measure\n"
MEASURE = "import json; print(json.dumps(measure({keys}, {calls})))"


def measured(found: Stage, calls: int, grow: str) -> Figures:
    """Let the desk grow, and measure calls in a new process."""
    found.site.run(LOAD + grow)
    keys = f"{found.key!r}, {found.decider!r}"
    figures: Figures = json.loads(
        found.site.run(LOAD + MEASURE.format(keys=keys, calls=calls)).splitlines()[-1]
    )
    return figures


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--calls", type=int, default=100)
    options.add_argument(
        "--databases",
        nargs="+",
        choices=[POSTGRESQL, SQLITE],
        default=[POSTGRESQL, SQLITE],
    )
    given = options.parse_args()
    steps = {
        "a small desk": "",
        f"{PERMISSIONS:,} permissions of each user": f"add_permissions({PERMISSIONS})",
        f"{KEYS:,} keys": f"add_keys({KEYS})",
        f"{given.rows:,} requests": SCRIPT.format(number=given.rows),
    }
    for database in given.databases:
        print(
            f"\n{database:<52}{'ratio':>7}{'CPU, ms':>9}{'database':>10}{'statements':>12}",
            flush=True,
        )
        with stage(database, workers=0, redis=False) as found:
            found.site.stop()
            small: Figures = {}
            for name, grow in steps.items():
                figures = measured(found, given.calls, grow)
                small = small or figures
                for call, (process, other, statements) in figures.items():
                    ratio = (process + other) / sum(small[call][:2])
                    cells = f"{ratio:>6.2f}x{process:>9.2f}{other:>10.2f}{statements:>12.1f}"
                    print(f"{name + ', ' + call:<52}{cells}", flush=True)


if __name__ == "__main__":
    main()
