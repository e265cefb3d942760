"""Measure what pages cost the server: CPU and statements of each, in one process, without a browser.

    .venv/bin/python -m benchmarks.pages [--rounds 30]

Each page is asked of the ASGI application with all its middleware, on both databases. The lists are full: 50 requests or
workflows, 30 chats. CPU is that of the process, so what PostgreSQL does for a page is not in it.
"""

from __future__ import annotations

import argparse
import json

from benchmarks.figures import Table
from benchmarks.stage import POSTGRESQL, SQLITE, stage

MEASURE = """
import json
from benchmarks.load.pages import measure, seed
session, pages = seed()
print(json.dumps(measure(pages, session, {rounds})))
"""


def measured(database: str, rounds: int) -> dict[str, tuple[list[float], int, int]]:
    """Return the CPU of each page in ms, its statements and its bytes."""
    with stage(database, webs=0, workers=0, redis=False, HITL_AGENTS="chats.agent.demo.support") as found:
        pages: dict[str, tuple[list[float], int, int]] = json.loads(
            found.site.run(MEASURE.format(rounds=rounds)).splitlines()[-1]
        )
    return pages


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("--databases", nargs="+", choices=[POSTGRESQL, SQLITE], default=[POSTGRESQL, SQLITE])
    given = options.parse_args()
    for database in given.databases:
        pages = measured(database, given.rounds)
        table = Table(f"{database}: CPU for a page", "ms", "statements", "KiB")
        for name, (taken, statements, size) in pages.items():
            table.row(name, taken, f"{statements:>10}", f"{size / 1024:.0f}")


if __name__ == "__main__":
    main()
