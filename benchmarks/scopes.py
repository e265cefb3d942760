"""Measure the lists of people whom approver scopes limit, over many requests and 200 scopes, and what asking costs with them.

    .venv/bin/python -m benchmarks.scopes [--requests 1000000] [--rounds 100] [--databases PostgreSQL]

`in-10: inbox` is the list of a person whom ten of the scopes name, each of which fits as many requests; `approver` sees all.
The first page of the Inbox comes first, with its p95. CPU is that of the web process, so what PostgreSQL does is not in it.
"""

from __future__ import annotations

from benchmarks.figures import Table
from benchmarks.stage import measured

PREPARE = "from benchmarks.load.scopes import prepare; prepare({number})"
MEASURE = "import json; from benchmarks.load.scopes import measure; print(json.dumps(measure({rounds})))"
FIRST_PAGE = "inbox, first page"


def main() -> None:
    for title, found in measured(__doc__, PREPARE, MEASURE):
        lists = found["lists"]
        tables = {
            f"{title}: {FIRST_PAGE}": {
                name: times
                for name, times in lists.items()
                if name.endswith(FIRST_PAGE)
            },
            f"{title}: the same, CPU": found["CPU"],
            f"{title}: CPU of asking": found["asks"],
            f"{title}: lists": lists,
        }
        for heading, rows in tables.items():
            table = Table(heading, "ms")
            for name, times in rows.items():
                table.row(name, times)


if __name__ == "__main__":
    main()
