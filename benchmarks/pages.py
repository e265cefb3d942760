"""Measure what pages cost the server: CPU and statements of each, in one process, without a browser.

    .venv/bin/python -m benchmarks.pages [--rounds 30] [--before PATH]

Each page is asked of the ASGI application with all its middleware, on both databases. The lists are full: 50 requests or
workflows, 30 chats. CPU is that of the process, so what PostgreSQL does for a page is not in it. The pages take turns; the
last column is the ratio to the first row in the same round, with its range. With `--before`, the same pages of another
checkout come first, measured by its own `benchmarks/load/pages.py`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.figures import Table, ratio_in_turns
from benchmarks.stage import POSTGRESQL, SQLITE, add_before, projects, stage
from tests.support.root import ROOT

MEASURE = """
import json
from benchmarks.load.pages import measure, seed
session, pages = seed()
print(json.dumps(measure(pages, session, {rounds})))
"""


def measured(
    database: str, rounds: int, project: Path = ROOT
) -> dict[str, tuple[list[float], int, int]]:
    """Return the CPU of each page in ms, its statements and its bytes."""
    agents = "chats.agent.demo.support"
    with stage(
        database, webs=0, workers=0, redis=False, project=project, HITL_AGENTS=agents
    ) as found:
        pages: dict[str, tuple[list[float], int, int]] = json.loads(
            found.site.run(MEASURE.format(rounds=rounds)).splitlines()[-1]
        )
    return pages


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument(
        "--databases",
        nargs="+",
        choices=[POSTGRESQL, SQLITE],
        default=[POSTGRESQL, SQLITE],
    )
    add_before(options)
    given = options.parse_args()
    for database in given.databases:
        for label, project in projects(given.before).items():
            pages = measured(database, given.rounds, project)
            first, _, _ = next(iter(pages.values()))
            table = Table(
                f"{database}, {label}: CPU for a page",
                "ms",
                "statements",
                "KiB",
                "ratio in each round",
            )
            for name, (taken, statements, size) in pages.items():
                cells = (
                    f"{statements:>10}",
                    f"{size / 1024:>3.0f}",
                    ratio_in_turns(taken, first),
                )
                table.row(name, taken, *cells)


if __name__ == "__main__":
    main()
