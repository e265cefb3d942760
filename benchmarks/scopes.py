"""Measure the lists of people whom approver scopes limit, over many requests and 200 scopes, and what asking costs with them.

    .venv/bin/python -m benchmarks.scopes [--requests 200000] [--rounds 20]

`in-10: inbox` is the list of a person whom ten of the scopes name, each of which fits as many requests; `approver` sees all.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.figures import Table
from benchmarks.stage import POSTGRESQL, SQLITE, stage

PREPARE = "from benchmarks.load.scopes import prepare; prepare({number})"
MEASURE = "import json; from benchmarks.load.scopes import measure; print(json.dumps(measure({rounds})))"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--requests", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--databases", nargs="+", choices=[POSTGRESQL, SQLITE], default=[POSTGRESQL, SQLITE])
    given = options.parse_args()
    for database in given.databases:
        with stage(database, workers=1, redis=False) as found:
            program = found.program()
            program.approve(program.ask()["id"])
            found.site.stop()
            found.site.run(PREPARE.format(number=given.requests))
            every = json.loads(found.site.run(MEASURE.format(rounds=given.rounds)).splitlines()[-1])
        table = Table(f"{database}, {given.requests:,} requests", "ms")
        for name, taken in every.items():
            table.row(name, taken)


if __name__ == "__main__":
    main()
