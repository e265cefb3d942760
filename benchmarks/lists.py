"""Measure lists, searches and counts over many requests in the database, and report full table scans.

    .venv/bin/python -m benchmarks.lists [--requests 200000] [--rounds 20]

The rows are copied by the database itself. One request of fifty waits; every tenth was asked by one person, who sees only
theirs. Times are those of
the query with its rows fetched, on both databases; "reads all of" names tables that the plan scans.
"""

from __future__ import annotations

from benchmarks.figures import Table
from benchmarks.load.many_requests import SCRIPT
from benchmarks.stage import measured

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
    for title, every in measured(__doc__, SCRIPT, MEASURE):
        table = Table(title, "ms", "reads all of")
        for name, (taken, scans) in every.items():
            table.row(name, taken, ", ".join(scans) or "-")


if __name__ == "__main__":
    main()
