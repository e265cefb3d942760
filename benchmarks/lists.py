"""Measure lists, searches and counts over many requests in the database, and report full table scans.

    .venv/bin/python -m benchmarks.lists [--requests 200000] [--rounds 20]

The rows are copied by the database itself. One request of fifty waits; every tenth was asked by one person, who sees only
theirs. Times are those of
the query with its rows fetched, on both databases; "reads all of" names tables that the plan scans.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.figures import Table
from benchmarks.stage import POSTGRESQL, SQLITE, stage

FILL = (
    "from django.contrib.auth.models import User; from benchmarks.load.many_requests import fill\n"
    "fill({number}, asker=User.objects.get(username='requester'))"
)
MEASURE = """
import json, time
from django.contrib.auth.models import User
from approvals.models import ApprovalRequest
from benchmarks.load.lists import lists, rows, scanned
decider = User.objects.get(username="approver")
owner = User.objects.get(username="requester")
found = {{}}
for name, query in lists(decider, owner).items():
    rows(query)
    taken = []
    for _ in range({rounds}):
        began = time.perf_counter()
        rows(query)
        taken.append((time.perf_counter() - began) * 1000)
    found[name] = (taken, sorted(scanned(query)))
print(json.dumps(found))
"""


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
            found.site.run(FILL.format(number=given.requests))
            every = json.loads(found.site.run(MEASURE.format(rounds=given.rounds)).splitlines()[-1])
        table = Table(f"{database}, {given.requests:,} requests", "ms", "reads all of")
        for name, (taken, scans) in every.items():
            table.row(name, taken, ", ".join(scans) or "-")


if __name__ == "__main__":
    main()
