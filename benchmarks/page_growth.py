"""Measure how pages slow down as requests accumulate: p50 of each page over 200,000 requests and over 1,000, in turns.

    .venv/bin/python -m benchmarks.page_growth [--requests 1000 200000] [--rounds 14] [--before PATH]

Two desks on one PostgreSQL, each with a web process, and one person who opens the pages of one and then of the other, over
HTTP; one request of fifty waits. A round has the p50 of ten times each page, and the ratio is the median of those of the
rounds, with their range: at 1.00x, a page does not slow down. With `--before`, the desks of another checkout come first.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Mapping
from contextlib import ExitStack

from benchmarks.figures import in_turns, print_pairs
from benchmarks.load.many_requests import SCRIPT
from benchmarks.stage import Stage, add_before, postgresql, projects, stage
from tests.support.processes.server import Person

TIMES = 10
#: `refund` is in the title of each request.
PAGES = {
    "Inbox": "/",
    "Inbox, search among the waiting": "/?q=refund",
    "decided requests": "/requests/?status=decided",
    "decided requests, search": "/requests/?status=decided&q=refund",
    "Insights of 30 days": "/insights/?days=30",
}


def fill(found: Stage, number: int) -> str:
    """Fill a desk with copies of one decided request. Return the address of one that waits."""
    program = found.program()
    program.approve(program.ask()["id"])
    found.site.run(SCRIPT.format(number=number))
    return f"/requests/{program.ask()['id']}/"


def measure(person: Person, pages: Mapping[str, str]) -> dict[str, float]:
    """Return the p50 of each page in ms."""
    return {
        name: statistics.median(opened(person, address) for _ in range(TIMES))
        for name, address in pages.items()
    }


def opened(person: Person, address: str) -> float:
    began = time.monotonic()
    page = person.get(address)
    assert page.status == 200, (address, page.status)
    return (time.monotonic() - began) * 1000


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--requests", type=int, nargs=2, default=[1_000, 200_000])
    options.add_argument("--rounds", type=int, default=14)
    add_before(options)
    given = options.parse_args()
    for name, project in projects(given.before).items():
        with ExitStack() as stack:
            cluster = stack.enter_context(postgresql())
            measures = {}
            for number in given.requests:
                found = stack.enter_context(
                    stage(workers=0, redis=False, cluster=cluster, project=project)
                )
                pages = PAGES | {"one waiting request": fill(found, number)}
                measures[f"{number:,}"] = functools.partial(
                    measure, found.site.person("approver"), pages
                )
                # The first time, a page is compiled.
                measures[f"{number:,}"]()
            print_pairs(
                f"{name}: p50 in ms, by number of requests",
                in_turns(measures, given.rounds),
            )


if __name__ == "__main__":
    main()
