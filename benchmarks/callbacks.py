"""Measure how many decisions a second reach a callback address, and an engine, in turns and in one process.

    .venv/bin/python -m benchmarks.callbacks [--rounds 5] [--deliveries 100]

One host, so two threads deliver at a time, on SQLite. A ratio of 1.00x or more means that engines are no slower.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.figures import Table
from benchmarks.stage import SQLITE, stage

MEASURE = """
import json
from benchmarks.load.callbacks import measure
print(json.dumps(measure({rounds}, {deliveries})))
"""


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--deliveries", type=int, default=100)
    given = options.parse_args()
    with stage(SQLITE, webs=0, workers=0, redis=False) as site:
        script = MEASURE.format(rounds=given.rounds, deliveries=given.deliveries)
        found = json.loads(site.site.run(script).splitlines()[-1])
    table = Table("deliveries a second", "/s")
    for name, values in found.items():
        table.row(name, values)


if __name__ == "__main__":
    main()
